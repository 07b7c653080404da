import { globRuns, type GlobRun } from '../lib/glob.ts';

/**
 * A machine type such as `pc-q35-rhel9.2.0`: of the types of a family, a later version takes the place of an earlier
 * one.
 */
export interface MachineType {
  name: string;
  /** The name without its version: `pc-q35-rhel`, `pc-i440fx`; the whole name where there is none. */
  family: string;
  /** Null for an alias such as `q35`, and whatever else has none. */
  version: number[] | null;
}

/**
 * Two numbers at least, behind a hyphen and the letters of a distribution: the digits of `q35` and `i440fx` are none.
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
 * An alias such as `q35` says nothing of the type that a guest has: that is the one it stood for when the guest began
 * to run.
 */
export const isAlias = (name: string): boolean => machineTypeOf(name).version === null;

/**
 * Below zero where the first is the older one, above where it is the newer; null for types that are not of one family.
 */
export function compareMachineTypes(one: string, other: string): number | null {
  const [first, second] = [machineTypeOf(one), machineTypeOf(other)];
  if (first.family !== second.family || first.version === null || second.version === null) return null;
  return compareVersions(first.version, second.version);
}

/** `9.2` is `9.2.0`. */
function compareVersions(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The newest of the types that are of the same family as this one and newer; null where there is none. */
export function newerThan(name: string, types: Iterable<string>): string | null {
  let newest = name;
  for (const type of types) if ((compareMachineTypes(type, newest) ?? 0) > 0) newest = type;
  return newest === name ? null : newest;
}

/**
 * The types that a glob was perhaps meant for, the nearest first: those that match it after the fewest letters are
 * changed, left out or put in. A type with which it would have to change in more than half of its letters is none of
 * them. Throws as `globMatcher` does.
 */
export function nearest(glob: string, types: Iterable<string>): string[] {
  const runs = globRuns(glob);
  const most = Math.floor(runs.reduce((sum, { fits }) => sum + fits.length, 0) / 2);
  return [...new Set(types)]
    .map((type) => ({ type, edits: editsOf(runs, Array.from(type)) }))
    .filter(({ edits }) => edits <= most)
    .sort((one, other) => one.edits - other.edits || (one.type < other.type ? -1 : 1))
    .map(({ type }) => type);
}

/**
 * How many edits a glob is away from a name: Levenshtein's distance, where a star costs nothing whatever it stands for.
 */
function editsOf(runs: readonly GlobRun[], name: readonly string[]): number {
  // row[i]: edits from what was read of the glob to the first i characters of the name.
  let row = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (const { star, fits } of runs) {
    if (star) for (let index = 1; index < row.length; index++) row[index] = Math.min(row[index]!, row[index - 1]!);
    for (const fit of fits) {
      const next = [row[0]! + 1];
      for (let index = 1; index < row.length; index++) {
        const taken = row[index - 1]! + (fit(name[index - 1]!) ? 0 : 1);
        next.push(Math.min(taken, row[index]! + 1, next[index - 1]! + 1));
      }
      row = next;
    }
  }
  return row.at(-1)!;
}
