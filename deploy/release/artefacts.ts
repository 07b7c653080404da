import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

export function npmPackage({ source, out, version }: ArtefactOptions): Outcome {
  const folder = join(out, 'package');
  run(source, process.execPath, 'deploy/package/build.ts', folder);
  run(source, 'npm', 'pack', folder, '--pack-destination', out);
  return `drover-${version}.tgz`;
}

export function licences({ out }: ArtefactOptions): Outcome {
  copyFileSync(join(out, 'package/NOTICES.md'), join(out, 'NOTICES.md'));
  return 'NOTICES.md, of all packages that the command contains';
}

export function sbom({ source, out, version }: ArtefactOptions): Outcome {
  const file = `drover-${version}.cdx.json`;
  const bom = run(source, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only');
  writeFileSync(join(out, file), bom);
  return `${file}, of the ${(JSON.parse(bom) as { components: object[] }).components.length} packages of the worker`;
}

export function chart({ source, out, version }: ArtefactOptions): Outcome {
  if (!isThere('helm')) return skipped('helm not found: package the chart with `helm package deploy`');
  run(source, 'helm', 'package', 'deploy', '--destination', out);
  return `drover-${version}.tgz of the chart`;
}

export function image({ source, out, version, image: name, isDryRun }: ArtefactOptions): Outcome {
  if (!succeeds(source, 'docker', 'info')) return skipped('no docker answers to build the image with');
  const tag = `${name ?? 'drover'}:${version}`;
  run(source, 'docker', 'build', '--tag', tag, '.');
  if (name === undefined) return skipped(`${tag} was built, and goes nowhere: --image says to which registry`);
  if (isDryRun) return skipped(`${tag} was built, and is not pushed in a dry run`);
  run(source, 'docker', 'push', tag);
  const digest = run(source, 'docker', 'inspect', '--format', '{{index .RepoDigests 0}}', tag).trim();
  writeFileSync(join(out, 'image.txt'), `${digest}\n`);
  return digest;
}

export function checksums({ out }: ArtefactOptions): Outcome {
  const files = readdirSync(out, { withFileTypes: true }).filter((one) => one.isFile());
  const lines = files.map(({ name }) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(out, name)))
      .digest('hex');
    return `${digest}  ${name}\n`;
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
  const digests = readdirSync(out).includes('image.txt') ? [readFileSync(join(out, 'image.txt'), 'utf8').trim()] : [];
  for (const digest of digests) run(source, 'cosign', 'sign', '--yes', '--key', key, digest);
  return ['SHA256SUMS.sig', ...digests].join(', ');
}

export function npmRegistry({ source, out, version, isDryRun, env }: ArtefactOptions): Outcome {
  if (isDryRun) return skipped('nothing is published in a dry run');
  if (env['NODE_AUTH_TOKEN'] === undefined) return skipped('NODE_AUTH_TOKEN holds no token of an npm registry');
  run(source, 'npm', 'publish', join(out, `drover-${version}.tgz`), '--access', 'public');
  return `drover ${version}`;
}
