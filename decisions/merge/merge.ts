import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { normalForm } from '../template/normal-form.ts';
import { contains } from './contains.ts';
import { byName } from './named-items.ts';
import { dropsRivals } from './rivals.ts';

/** Stands for a `base` that is unknown. */
export const UNKNOWN = Symbol('unknown');

/** Three versions of a field: as it is, as it was last written, and as it should be written. Null counts as absent. */
export interface Versions {
  live: unknown;
  base: unknown;
  target: unknown;
}

/**
 * Returns the merged field. What `base` and `target` have in common stays as it is, whatever a user has made of it.
 * Of the rest, `target` wins in everything that it sets, and what only `base` set is removed leaf by leaf. If `base` is
 * unknown, `target` wins wherever `live` does not hold what it sets. `key` is the name of the field, or of the list
 * that contains it. The result shares parts with the arguments, which are not changed.
 */
export function merge({ live, base, target }: Versions, key = ''): unknown {
  if (base === UNKNOWN ? contains(live, target, key) : isSame(base, target)) return live;
  const [wanted, was] = [target ?? undefined, base ?? undefined];
  if (isObject(live) && isObject(wanted ?? was)) {
    const merged = mergeObjects(live, was, wanted, key);
    return wanted === undefined && Object.keys(merged).length === 0 ? undefined : merged;
  }
  if (Array.isArray(live) && Array.isArray(wanted ?? was)) {
    const merged = mergeLists(live, was, wanted as unknown[] | undefined, key);
    return wanted === undefined && merged.length === 0 ? undefined : merged;
  }
  return wanted;
}

const isSame = (one: unknown, other: unknown): boolean => {
  const [a, b] = [one ?? null, other ?? null];
  return isInner(a) && isInner(b) ? canonical(a) === canonical(b) : a === b;
};

const spelledAlike = (item: unknown): string => canonical(isObject(item) ? normalForm(item) : item);

const isInner = (value: unknown): boolean => typeof value === 'object' && value !== null;

const below = (base: unknown, key: string): unknown => (base === UNKNOWN ? UNKNOWN : field(base, key));

function mergeObjects(live: Json, base: unknown, target: unknown, key: string): Json {
  const keys = [...new Set([...Object.keys(live), ...(isObject(target) ? Object.keys(target) : [])])];
  const merged = keys
    .map(
      (each) =>
        [each, merge({ live: field(live, each), base: below(base, each), target: field(target, each) }, each)] as const,
    )
    .filter(([, value]) => value !== undefined);
  // If a user replaced one of the template's exclusive fields with another, the template's field does not conflict with
  // it.
  const chosen = Object.fromEntries(merged.filter(([each]) => field(target, each) !== undefined));
  return Object.fromEntries(merged.filter(([each]) => !dropsRivals(key, chosen, each)));
}

function mergeLists(live: unknown[], base: unknown, target: unknown[] | undefined, key: string): unknown[] {
  const before = Array.isArray(base) ? base : [];
  const [named, was, wanted] = [live, before, target ?? []].map(byName);
  if (named && was && wanted) {
    const items = [...wanted].flatMap(([name, item]) => {
      const then = base === UNKNOWN ? UNKNOWN : was.get(name);
      return merge({ live: named.get(name), base: then, target: item }, key) ?? [];
    });
    return [...items, ...[...named].filter(([name]) => !was.has(name) && !wanted.has(name)).map(([, item]) => item)];
  }
  // A list of strings or numbers is one value: a command mixed from two is broken.
  if (![...live, ...before, ...(target ?? [])].every(isObject)) return target ?? [];
  // KubeVirt writes items in its own spelling: such an item is the template's, not a user's.
  const known = new Set([...before, ...(target ?? [])].map(spelledAlike));
  return [...(target ?? []), ...live.filter((item) => !known.has(spelledAlike(item)))];
}
