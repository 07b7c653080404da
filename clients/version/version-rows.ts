import type { Cell } from '../cli/print.ts';
import type { Version, Versions } from './versions.ts';

const NAMES = {
  client: 'drover',
  definitions: 'definitions',
  workers: 'workers',
  temporal: 'Temporal',
  kubevirt: 'KubeVirt',
  kubernetes: 'Kubernetes',
} satisfies Record<keyof Versions, string>;

/** Returns a row for each part that was asked. */
export const versionRows = (versions: Versions): Cell[][] =>
  (Object.keys(NAMES) as (keyof Versions)[]).flatMap((part) => {
    const version = versions[part];
    return version === undefined ? [] : [[NAMES[part], shown(version)]];
  });

function shown(version: Version | string[]): Cell {
  if (Array.isArray(version)) return version.length === 0 ? { text: 'none', style: 'yellow' } : version.join(', ');
  if (version === null) return { text: 'not installed', style: 'yellow' };
  return typeof version === 'string' ? version : { text: `unknown: ${version.unknown}`, style: 'yellow' };
}
