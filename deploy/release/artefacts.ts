import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseDocument } from 'yaml';
import { isThere, run, succeeds } from './run.ts';

export interface ArtefactOptions {
  version: string;
  /** Folder of the clone that is released. */
  source: string;
  /** Folder for what is made. */
  out: string;
  isDryRun: boolean;
  /** Of the image, such as `registry.example/drover`; undefined if none is to be pushed. */
  image: string | undefined;
  env: NodeJS.ProcessEnv;
}

/** What a step has done, or, if it was skipped, why. */
export type Outcome = string | { skipped: string };

const skipped = (message: string): Outcome => ({ skipped: message });

/** The npm package and the chart have one name, so each gets its own folder, which is made. */
function folderFor(out: string, kind: 'npm' | 'charts'): string {
  const folder = join(out, kind);
  mkdirSync(folder);
  return folder;
}

export function npmPackage({ source, out, version }: ArtefactOptions): Outcome {
  const folder = join(out, 'package');
  run(source, process.execPath, 'deploy/package/build.ts', folder);
  run(source, 'npm', 'pack', folder, '--pack-destination', folderFor(out, 'npm'));
  copyFileSync(join(folder, 'NOTICES.md'), join(out, 'NOTICES.md'));
  rmSync(folder, { recursive: true });
  return `npm/drover-${version}.tgz, and NOTICES.md of all packages that it contains`;
}

export function sbom({ source, out, version }: ArtefactOptions): Outcome {
  const file = `drover-${version}.cdx.json`;
  const bom = run(source, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only');
  writeFileSync(join(out, file), bom);
  return `${file}, of the ${(JSON.parse(bom) as { components: object[] }).components.length} packages of the worker`;
}

const hasDocker = (source: string): boolean => succeeds(source, 'docker', 'info');
const NO_DOCKER = skipped('no docker answers to build the image with');
const tagOf = ({ image, version }: ArtefactOptions): string => `${image ?? 'drover'}:${version}`;

export function image(making: ArtefactOptions): Outcome {
  const { source } = making;
  if (!hasDocker(source)) return NO_DOCKER;
  run(source, 'docker', 'build', '--tag', tagOf(making), '.');
  return tagOf(making);
}

export function imageRegistry(making: ArtefactOptions): Outcome {
  const { source, out, image: name, isDryRun } = making;
  if (name === undefined) return skipped('--image says to no registry');
  if (isDryRun) return skipped('nothing is pushed in a dry run');
  if (!hasDocker(source)) return NO_DOCKER;
  run(source, 'docker', 'push', tagOf(making));
  const digest = run(source, 'docker', 'inspect', '--format', '{{index .RepoDigests 0}}', tagOf(making)).trim();
  writeFileSync(join(out, 'image.txt'), `${digest}\n`);
  return digest;
}

/** What was pushed, by its digest; undefined if nothing was. */
function pushedImage(out: string): string | undefined {
  const file = join(out, 'image.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** The chart installs the image that was pushed. */
export function chart({ source, out, version, image: name }: ArtefactOptions): Outcome {
  if (!isThere('helm')) return skipped('helm not found: package the chart with `helm package deploy`');
  const [, digest] = pushedImage(out)?.split('@') ?? [];
  const file = join(source, 'deploy/values.yaml');
  const values = parseDocument(readFileSync(file, 'utf8'));
  if (name !== undefined) values.setIn(['image', 'repository'], name);
  if (digest !== undefined) values.setIn(['image', 'digest'], digest);
  writeFileSync(file, values.toString({ lineWidth: 0 }));
  run(source, 'helm', 'package', 'deploy', '--destination', folderFor(out, 'charts'));
  return `charts/drover-${version}.tgz, which installs ${name ?? 'drover'}${digest === undefined ? '' : `@${digest}`}`;
}

export function checksums({ out }: ArtefactOptions): Outcome {
  const files = readdirSync(out, { withFileTypes: true, recursive: true }).filter((one) => one.isFile());
  const lines = files.map(({ parentPath, name }) => {
    const file = join(parentPath, name);
    return `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${relative(out, file)}\n`;
  });
  writeFileSync(join(out, 'SHA256SUMS'), lines.toSorted().join(''));
  return `SHA256SUMS, of ${lines.length} files`;
}

export function signatures({ source, out, env }: ArtefactOptions): Outcome {
  const { COSIGN_KEY: key } = env;
  if (key === undefined) return skipped('COSIGN_KEY names no key to sign with');
  if (!isThere('cosign')) return skipped('cosign not found: artefacts are not signed');
  const sums = join(out, 'SHA256SUMS');
  run(source, 'cosign', 'sign-blob', '--yes', '--key', key, '--output-signature', `${sums}.sig`, sums);
  const pushed = pushedImage(out);
  if (pushed === undefined) return 'SHA256SUMS.sig';
  run(source, 'cosign', 'sign', '--yes', '--key', key, pushed);
  return `SHA256SUMS.sig, ${pushed}`;
}

export function npmRegistry({ source, out, version, isDryRun, env }: ArtefactOptions): Outcome {
  if (isDryRun) return skipped('nothing is published in a dry run');
  if (!env['NODE_AUTH_TOKEN']) return skipped('NODE_AUTH_TOKEN holds no token of an npm registry');
  run(source, 'npm', 'publish', join(out, `npm/drover-${version}.tgz`), '--access', 'public');
  return `drover ${version}`;
}
