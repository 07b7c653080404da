import { compareRanks } from '../lib/ranks.ts';

/** A machine type such as `pc-q35-rhel9.2.0`. Within a family, later versions replace earlier ones. */
interface MachineType {
  name: string;
  /** The name without its version: `pc-q35-rhel`, `pc-i440fx`; the whole name if it has no version. */
  family: string;
  /** Null for an alias such as `q35`, and for any other name without a version. */
  version: number[] | null;
}

/**
 * A version has at least two numbers, after a hyphen and the letters of a distribution: the digits of `q35` and
 * `i440fx` are none.
 */
const VERSIONED = /^(?<before>.+?)-(?<distribution>[a-z]*)(?<version>\d+(?:\.\d+)+)(?<after>.*)$/;

export function machineTypeOf(name: string): MachineType {
  const parts = VERSIONED.exec(name)?.groups;
  if (parts === undefined) return { name, family: name, version: null };
  const { before, distribution, version, after } = parts;
  const family = `${before}${distribution === '' ? '' : `-${distribution}`}${after}`;
  return { name, family, version: version!.split('.').map(Number) };
}

/**
 * True for an alias such as `q35`. It does not tell the type of a running VMI, which is the type that the alias stood
 * for when the VMI began to run.
 */
export const isAlias = (name: string): boolean => machineTypeOf(name).version === null;

/**
 * Negative if the first is older, positive if it is newer; null for types of different families or without a version.
 */
export function compareMachineTypes(a: string, b: string): number | null {
  const [first, second] = [machineTypeOf(a), machineTypeOf(b)];
  if (first.family !== second.family || first.version === null || second.version === null) return null;
  return compareRanks(first.version, second.version);
}

/** Returns the newest type of the same family that is newer than this one; null if there is none. */
export function newerThan(name: string, types: Iterable<string>): string | null {
  let newest = name;
  for (const type of types) if ((compareMachineTypes(type, newest) ?? 0) > 0) newest = type;
  return newest === name ? null : newest;
}
