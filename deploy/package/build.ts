import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { bundle } from '../build.ts';
import { noticesOf } from './notices.ts';
import { writePage } from './page.ts';

const project = resolve(import.meta.dirname, '../..');

/** The worker has a native core of 30 MB for each platform. It comes with the image, and with a clone. */
const OF_THE_WORKER = [/^@temporalio\/(worker|core-bridge|activity|nexus)/, /^@grpc\/proto-loader/];

/**
 * Writes the npm package `drover` into a new `folder`: the `drover` command, bundled with all that it needs, so that it
 * has no dependencies. As `kubectl-drover` it is kubectl's plugin, too. Throws if `folder` exists.
 */
export async function buildPackage(folder: string): Promise<void> {
  mkdirSync(folder);
  const chunks = await bundle(folder, { drover: 'clients/bin.js' }, OF_THE_WORKER, 'node22');
  const { name, version, description, license } = packageJson;
  // By this, npm's provenance finds that the workflow of the sources made the package.
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  const manifest = {
    name,
    version,
    description,
    license,
    ...(repository && { repository: { type: 'git', url: `git+${server}/${repository}.git` } }),
    keywords: ['kubevirt', 'kubernetes', 'temporal', 'virtual-machines', 'kubectl-plugin'],
    type: 'module',
    engines: { node: '>=22.19' },
    bin: { drover: 'drover.mjs', 'kubectl-drover': 'drover.mjs', 'kubectl_complete-drover': 'drover.mjs' },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const ofPage = writePage(join(folder, 'dashboard'));
  writeFileSync(join(folder, 'NOTICES.md'), noticesOf([...chunks.flatMap(({ moduleIds }) => moduleIds), ...ofPage]));
  for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(join(project, file), join(folder, file));
  cpSync(join(import.meta.dirname, 'README.md'), join(folder, 'README.md'));
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('node deploy/package/build.ts FOLDER');
  rmSync(folder, { recursive: true, force: true });
  await buildPackage(resolve(folder));
}
