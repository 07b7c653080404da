import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { krewManifest } from '../package/krew.ts';
import { Refused, run, saidBy, succeeds } from './run.ts';

interface Making {
  version: string;
  /** Clone of the tag. */
  source: string;
  /** Folder for what is made. */
  out: string;
  /** Of the image, with its registry and without a tag. */
  image: string;
  /** Where the chart goes to, such as `oci://registry.example/charts`. */
  charts: string;
  /** The digest of the image, once it is in its registry. */
  pushed: { digest?: string };
}

/** Does one thing for the release, and says what. */
export type ArtefactStep = (making: Making) => string;

const chartFile = ({ out, version }: Making): string => join(out, `drover-${version}.tgz`);
/** Not by the name that npm gives it, which is the chart's. */
const packageFile = ({ out, version }: Making): string => join(out, `drover-npm-${version}.tgz`);
const sumsFile = ({ out }: Making): string => join(out, 'SHA256SUMS');

const digestOf = (file: string, algorithm: string, encoding: 'hex' | 'base64'): string =>
  createHash(algorithm).update(readFileSync(file)).digest(encoding);

export const npmPackage: ArtefactStep = (making) => {
  const { source, out, version } = making;
  const folder = join(out, 'package');
  run(source, process.execPath, 'deploy/package/build.ts', folder);
  run(source, 'npm', 'pack', folder, '--pack-destination', out);
  renameSync(join(out, `drover-${version}.tgz`), packageFile(making));
  copyFileSync(join(folder, 'NOTICES.md'), join(out, 'NOTICES.md'));
  rmSync(folder, { recursive: true });
  return `drover-npm-${version}.tgz, and NOTICES.md of all packages that it contains`;
};

export const sbom: ArtefactStep = ({ source, out, version }) => {
  const file = `drover-${version}.cdx.json`;
  const bom = run(source, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only');
  writeFileSync(join(out, file), bom);
  return `${file}, of the ${(JSON.parse(bom) as { components: object[] }).components.length} packages of the worker`;
};

export const image: ArtefactStep = ({ source, out, image: name, version, pushed }) => {
  const [about, tag] = [join(out, 'image.json'), `${name}:${version}`];
  const how = ['--platform', 'linux/amd64,linux/arm64', '--tag', tag, '--metadata-file', about, '--push'];
  run(source, 'docker', 'buildx', 'build', ...how, '.');
  pushed.digest = (JSON.parse(readFileSync(about, 'utf8')) as Record<string, string>)['containerimage.digest']!;
  rmSync(about);
  return `${tag}@${pushed.digest}`;
};

/** The chart installs the image that was pushed. */
export const chart: ArtefactStep = (making) => {
  const { source, out, image: name, pushed } = making;
  const file = join(source, 'deploy/values.yaml');
  const values = parseDocument(readFileSync(file, 'utf8'));
  values.setIn(['image', 'repository'], name);
  if (pushed.digest !== undefined) values.setIn(['image', 'digest'], pushed.digest);
  writeFileSync(file, values.toString({ lineWidth: 0 }));
  run(source, 'helm', 'package', 'deploy', '--destination', out);
  return `drover-${making.version}.tgz, which installs ${name}${pushed.digest ? `@${pushed.digest}` : ''}`;
};

/** krew downloads the package from npm's registry. */
export const krew: ArtefactStep = (making) => {
  const registry = run(making.source, 'npm', 'config', 'get', 'registry').trim().replace(/\/$/, '');
  const uri = `${registry}/drover/-/drover-${making.version}.tgz`;
  writeFileSync(join(making.out, 'drover.yaml'), krewManifest(packageFile(making), uri));
  return `drover.yaml, of ${uri}`;
};

export const checksums: ArtefactStep = (making) => {
  const lines = readdirSync(making.out).map(
    (file) => `${digestOf(join(making.out, file), 'sha256', 'hex')}  ${file}\n`,
  );
  writeFileSync(sumsFile(making), lines.toSorted().join(''));
  return `SHA256SUMS, of ${lines.length} files`;
};

/** Whether this runs in a workflow that may say who it is, so that it signs without a key. */
const hasIdentity = (): boolean => process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined;

function sign({ source }: Making, command: 'sign' | 'sign-blob', ...of: string[]): void {
  const { COSIGN_KEY: key } = process.env;
  run(source, 'cosign', command, '--yes', ...(key ? ['--key', key] : []), ...of);
}

export const imageSignature: ArtefactStep = (making) => {
  const image = `${making.image}@${making.pushed.digest}`;
  sign(making, 'sign', image);
  return image;
};

export const sumsSignature: ArtefactStep = (making) => {
  const sums = sumsFile(making);
  sign(making, 'sign-blob', '--bundle', `${sums}.sigstore.json`, sums);
  return 'SHA256SUMS.sigstore.json';
};

export const chartRegistry: ArtefactStep = (making) => {
  const said = saidBy(making.source, 'helm', 'push', chartFile(making), making.charts);
  const [digest] = /sha256:[0-9a-f]{64}/.exec(said)!;
  const chart = `${making.charts.replace('oci://', '')}/drover@${digest}`;
  sign(making, 'sign', chart);
  return `${chart}, signed`;
};

export const npmVersion: ArtefactStep = (making) =>
  isInNpm(making) ? 'there already, from an attempt before' : 'free';

/** Last, because npm takes no version twice. */
export const npmRegistry: ArtefactStep = (making) => {
  if (isInNpm(making)) return npmVersion(making);
  const how = ['--access', 'public', '--tag', making.version.includes('-') ? 'next' : 'latest'];
  run(making.source, 'npm', 'publish', packageFile(making), ...how, ...(hasIdentity() ? ['--provenance'] : []));
  return `drover ${making.version}`;
};

/** Whether npm's registry has this package; throws `Refused` if it has another of this version. */
function isInNpm(making: Making): boolean {
  const view = ['npm', 'view', `drover@${making.version}`, 'dist.integrity'] as const;
  if (!succeeds(making.source, ...view)) return false;
  const there = run(making.source, ...view).trim();
  if (there === `sha512-${digestOf(packageFile(making), 'sha512', 'base64')}`) return true;
  throw new Refused(`npm's registry has another drover ${making.version}: set another version in package.json`);
}

/** By a token or, in a workflow that a package there may trust, by what this workflow is. */
const isKnownToNpm = (project: string): boolean =>
  succeeds(project, 'npm', 'whoami') || (hasIdentity() && succeeds(project, 'npm', 'view', 'drover', 'name'));

/** Throws `Refused` if something is missing that others must get the release by. */
export function refuseUnequipped(project: string, { image: name, charts }: Pick<Making, 'image' | 'charts'>): void {
  const needs: [boolean, string][] = [
    [/^[\w.-]+(:\d+)?\/[\w./-]+$/.test(name), '--image is the name of the image, with its registry and without a tag'],
    [/^oci:\/\/[^/]+\/./.test(charts), '--charts is where the chart goes to, such as oci://registry.example/charts'],
    [succeeds(project, 'docker', 'buildx', 'inspect'), 'docker buildx is missing, or has no builder'],
    [succeeds(project, 'helm', 'version'), 'helm is missing'],
    [succeeds(project, 'cosign', 'version'), 'cosign is missing'],
    [hasIdentity() || !!process.env['COSIGN_KEY'], 'COSIGN_KEY names no key to sign with'],
    [isKnownToNpm(project), 'npm has no token of its registry: run npm login'],
  ];
  const missing = needs.filter(([isThere]) => !isThere).map(([, why]) => why);
  if (missing.length > 0) throw new Refused(missing.join('; '));
}
