import { scatter } from '../lib/scatter.ts';

/** No vowels, which would make words, and nothing that looks like another. 27 of them. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;
const NAMES = LETTERS.length ** LENGTH;
/** Coprime to `NAMES`, so that no name repeats, and close to the golden ratio of it, so that names are spread out. */
const STEP = 8_868_112;

/**
 * Yields the names of a set's VMs in the order in which they are given: `web-7hk2p`, `web-q4x9d`, … They look like
 * names that Kubernetes generates, but each set has its own sequence, and a VM gets the first free name. So a
 * create that is repeated, by any worker, meets the name that the first one used: the API server itself refuses a VM
 * too many.
 */
export function* replicaNames(set: { name: string; uid: string }): Generator<string, void> {
  const start = scatter(set.uid) % NAMES;
  for (let slot = 0; slot < NAMES; slot++) yield `${set.name}-${letters((start + slot * STEP) % NAMES)}`;
}

const SUFFIX = new RegExp(`^-[${LETTERS}]{${LENGTH}}$`);

/** Reports whether a set of this name may have given the name to a VM. */
export const isReplicaName = (set: string, name: string): boolean =>
  name.startsWith(set) && SUFFIX.test(name.slice(set.length));

export const freeNames = (
  set: { name: string; uid: string },
  count: number,
  isTaken: (name: string) => boolean,
): string[] =>
  replicaNames(set)
    .filter((name) => !isTaken(name))
    .take(Math.max(count, 0))
    .toArray();

function letters(number: number): string {
  let word = '';
  for (let rest = number; word.length < LENGTH; rest = Math.floor(rest / LETTERS.length))
    word += LETTERS[rest % LETTERS.length]!;
  return word;
}
