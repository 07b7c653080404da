import { field } from '../lib/json.ts';
import { diskTemplates } from './disk-template.ts';
import { asList, diskReferences, isNamed, type Reference } from './references.ts';

export interface VmSpec {
  dataVolumeTemplates?: unknown;
  template?: unknown;
}

const NONE: readonly string[] = [];

/** The names of the claims that these volumes use. The claim of a DataVolume has the DataVolume's name. */
export function claimsOf(volumes: unknown): readonly string[] {
  const claims = asList(volumes)
    .flatMap((volume): Reference[] => [...diskReferences(volume), [volume['memoryDump'], 'claimName']])
    .filter(isNamed)
    .map(([holder, key]) => (holder as Record<string, string>)[key]!);
  return claims.length === 0 ? NONE : claims;
}

/** The names of the claims that a VirtualMachine's disk templates and volumes refer to. */
export const disksOf = (spec: VmSpec | null | undefined): Set<string> =>
  new Set([...diskTemplates(spec).keys(), ...claimsOf(field(spec, 'template', 'spec', 'volumes'))]);

/**
 * The disks that a VM gets with a write of its spec, and that are to be its own: those of disk templates that it has
 * then, or that its owner would make it with. What it used before is no longer a question, and volumes that are named
 * without a disk template are its author's to share.
 */
export function newDisks(before: VmSpec | undefined, after: VmSpec, made: VmSpec = after): string[] {
  const [had, own] = [disksOf(before), new Set([...diskTemplates(after).keys(), ...diskTemplates(made).keys()])];
  return [...disksOf(after)].filter((disk) => own.has(disk) && !had.has(disk));
}
