import { parse } from 'yaml';
import type { Tool } from './catalog.ts';

/** Where the projects publish their binaries. A mirror serves the same paths. */
export interface Sources {
  /** Folder of releases, with `v<version>/temporal_cli_<version>_<os>_<arch>.tar.gz` and `v<version>/checksums.txt`. */
  temporal: string;
  /** Index of envtest's archives, each with kube-apiserver and etcd. */
  envtest: string;
}

export const SOURCES: Sources = {
  temporal: 'https://github.com/temporalio/cli/releases/download',
  envtest: 'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml',
};

export interface Archive {
  url: string;
  algorithm: 'sha256' | 'sha512';
  /** Hexadecimal. */
  checksum: string;
}

type EnvtestReleases = Record<string, Record<string, { hash: string; selfLink: string }>>;

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const platform = (): string => `${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`;

/** Returns the archive with the tool for this platform. Throws if none is published. */
export function findArchive(tool: Tool, sources: Sources, read: (url: string) => Promise<string>): Promise<Archive> {
  const { project, version } = tool.published;
  return project === 'temporal'
    ? temporalArchive(sources.temporal, version, read)
    : envtestArchive(sources.envtest, version, read);
}

async function temporalArchive(
  releases: string,
  version: string,
  read: (url: string) => Promise<string>,
): Promise<Archive> {
  const folder = `${releases.replace(/\/$/, '')}/v${version}`;
  const name = `temporal_cli_${version}_${platform().replace('-', '_')}.tar.gz`;
  const sums = (await read(`${folder}/checksums.txt`)).split('\n').map((line) => line.trim().split(/\s+\*?/));
  const checksum = sums.find(([, file]) => file === name)?.[0];
  if (checksum === undefined) throw new Error(`it has no ${name}`);
  return { url: `${folder}/${name}`, algorithm: 'sha256', checksum };
}

/** Not every Kubernetes patch release is published as envtest, so the newest of the same minor version is used. */
async function envtestArchive(
  index: string,
  version: string,
  read: (url: string) => Promise<string>,
): Promise<Archive> {
  const { releases } = parse(await read(index)) as { releases: EnvtestReleases };
  const minor = version.split('.', 2).join('.');
  const newest = Object.keys(releases)
    .filter((release) => release.startsWith(`v${minor}.`) && /^v[\d.]+$/.test(release))
    .sort((a, b) => patchOf(b) - patchOf(a))[0];
  const archive = newest === undefined ? undefined : releases[newest]?.[`envtest-${newest}-${platform()}.tar.gz`];
  if (archive === undefined) throw new Error(`it has no Kubernetes ${minor} for ${platform()}`);
  return { url: archive.selfLink, algorithm: 'sha512', checksum: archive.hash };
}

const patchOf = (release: string): number => Number(release.split('.')[2]);
