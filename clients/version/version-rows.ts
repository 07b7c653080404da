import { printNote, print, table, type Cell, printData, type DataFormat } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { skewOf } from './skew.ts';
import { CLIENT, readVersions, type Version, type Versions } from './versions.ts';

/** Prints the versions of all parts, and warns of versions that do not go together. */
export const printVersions: Work<{ output?: DataFormat; client?: true }> = async (session, { output, client }) => {
  const versions = client === true ? CLIENT : await readVersions(session);
  if (output !== undefined) return printData(versions, output);
  print(table(['WHAT', 'VERSION'], versionRows(versions), { headers: false }));
  for (const sentence of skewOf(versions)) printNote(`warning: ${sentence}`);
};

const NAMES = {
  client: 'drover',
  definitions: 'definitions',
  workers: 'workers',
  temporal: 'Temporal',
  kubevirt: 'KubeVirt',
  kubernetes: 'Kubernetes',
} satisfies Record<keyof Versions, string>;

/** Returns a row for each part that was asked. */
const versionRows = (versions: Versions): Cell[][] =>
  (Object.keys(NAMES) as (keyof Versions)[]).flatMap((part) => {
    const version = versions[part];
    return version === undefined ? [] : [[NAMES[part], shown(version)]];
  });

function shown(version: Version | string[]): Cell {
  if (Array.isArray(version)) return version.length === 0 ? { text: 'none', style: 'yellow' } : version.join(', ');
  if (version === null) return { text: 'not installed', style: 'yellow' };
  return typeof version === 'string' ? version : { text: `unknown: ${version.unknown}`, style: 'yellow' };
}
