import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as artefacts from './artefacts.ts';
import type { ArtefactStep } from './artefacts.ts';
import { inClone } from './clone.ts';
import { refuseMixed } from './mixed-versions.ts';
import { orRefuse, Refused, run, succeeds } from './run.ts';

interface PublishOptions {
  version: string;
  /** The repository, with the tag checked out. */
  project: string;
  /** New folder for what is made. */
  out: string;
  /** Makes everything but the image, and publishes nothing. */
  isDryRun: boolean;
  image: string;
  charts: string;
  say: (line: string) => void;
}

/**
 * Makes all artefacts from the tag of a release, and publishes them: the image, then the chart that installs it, then
 * the command. It may be repeated after a failure. Throws `Refused`.
 */
export function publish({ version, project, out, isDryRun, image, charts, say }: PublishOptions): void {
  if (existsSync(out)) throw new Refused(`${out} is there already: remove it, or give another folder with --out`);
  refuseOther(project, version);
  if (!isDryRun) artefacts.refuseUnequipped(project, { image, charts });
  const made = mkdtempSync(join(tmpdir(), 'drover-artefacts-'));
  try {
    inClone(project, (source) => {
      const making = { version, source, out: made, image, charts, pushed: {} };
      for (const [title, step] of Object.entries(isDryRun ? MAKE : PUBLISH)) say(`${title}: ${step(making)}`);
    });
    cpSync(made, out, { recursive: true });
  } finally {
    rmSync(made, { recursive: true });
  }
}

const { npmPackage, sbom, chart, krew, checksums } = artefacts;
const MAKE: Record<string, ArtefactStep> = { 'npm package': npmPackage, SBOM: sbom, chart, krew, checksums };
/** The image comes before the chart that installs it, and everything before what can't be published again. */
const PUBLISH: Record<string, ArtefactStep> = {
  'npm package': npmPackage,
  'version in npm': artefacts.npmVersion,
  SBOM: sbom,
  image: artefacts.image,
  'signature of the image': artefacts.imageSignature,
  chart,
  krew,
  checksums,
  'signature of the checksums': artefacts.sumsSignature,
  'chart registry': artefacts.chartRegistry,
  'npm registry': artefacts.npmRegistry,
};

/** Throws `Refused` if what is checked out is not what the tag has, here and at origin. */
function refuseOther(project: string, version: string): void {
  const tag = `refs/tags/v${version}`;
  const commitOf = (ref: string): string => run(project, 'git', 'rev-parse', '--verify', `${ref}^{commit}`).trim();
  if (!succeeds(project, 'git', 'rev-parse', '--verify', tag))
    throw new Refused(`there is no tag v${version}: set it with node deploy/release/release.ts ${version}`);
  const commit = commitOf(tag);
  if (commitOf('HEAD') !== commit)
    throw new Refused(`another commit is checked out: git checkout v${version} && npm ci`);
  if (run(project, 'git', 'status', '--porcelain') !== '')
    throw new Refused(`the tree is not that of v${version}: take back what was changed`);
  if (succeeds(project, 'git', 'remote', 'get-url', 'origin')) {
    // A tag with a message is followed by its commit.
    const [there] = run(project, 'git', 'ls-remote', 'origin', tag, `${tag}^{}`).trim().split('\n').toReversed();
    if (!there?.startsWith(commit)) throw new Refused(`origin ${there ? 'has another' : 'lacks the'} tag v${version}`);
  }
  refuseMixed(project, version, true);
}

if (import.meta.main)
  orRefuse(() => {
    const project = resolve(import.meta.dirname, '../..');
    const options = {
      'dry-run': { type: 'boolean', default: false },
      image: { type: 'string', default: 'drover' },
      charts: { type: 'string', default: '' },
      out: { type: 'string' },
    } as const;
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const [version] = positionals;
    if (version === undefined)
      throw new Refused('say what to publish: node deploy/release/publish.ts 0.1.0 --image NAME --charts oci://…');
    const { 'dry-run': isDryRun, image, charts, out = join(project, 'dist', version) } = values;
    publish({ version, project, out, isDryRun, image, charts, say: (line) => void process.stdout.write(`${line}\n`) });
  });
