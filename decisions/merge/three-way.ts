import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { dropsRivals } from './one-of.ts';

/** Three versions of a field: as it is, as it was last written, and as it should be written. Null counts as absent. */
export interface Versions {
  live: unknown;
  base: unknown;
  target: unknown;
}

/**
 * Returns the merged field: `target` wins in everything that it sets, what only `base` set is removed leaf by leaf, and
 * everything else stays. `key` is the name of the field, or of the list that contains it. The result shares parts with
 * the arguments, which are not changed.
 */
export function merge({ live, base, target }: Versions, key = ''): unknown {
  if (isAbsent(target) && isAbsent(base)) return live;
  const [wanted, was] = [target ?? undefined, base ?? undefined];
  if (isObject(live) && isObject(wanted ?? was)) {
    const merged = mergeObjects(live, was, wanted, key);
    return wanted === undefined && Object.keys(merged).length === 0 ? undefined : merged;
  }
  if (Array.isArray(live) && Array.isArray(wanted ?? was)) {
    const merged = mergeLists(live, Array.isArray(was) ? was : undefined, wanted as unknown[] | undefined, key);
    return wanted === undefined && merged.length === 0 ? undefined : merged;
  }
  return wanted;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function mergeObjects(live: Json, base: unknown, target: unknown, key: string): Json {
  const keys = [...new Set([...Object.keys(live), ...(isObject(target) ? Object.keys(target) : [])])];
  const merged = keys
    .map(
      (each) =>
        [each, merge({ live: field(live, each), base: field(base, each), target: field(target, each) }, each)] as const,
    )
    .filter(([each, value]) => value !== undefined && !dropsRivals(key, target, each));
  return Object.fromEntries(merged);
}

function mergeLists(
  live: unknown[],
  base: unknown[] | undefined,
  target: unknown[] | undefined,
  key: string,
): unknown[] {
  const [named, was, wanted] = [live, base ?? [], target ?? []].map(byName);
  if (named && was && wanted) {
    const ours = [...wanted].map(([name, item]) =>
      merge({ live: named.get(name), base: was.get(name), target: item }, key),
    );
    return [...ours, ...[...named].filter(([name]) => !was.has(name) && !wanted.has(name)).map(([, item]) => item)];
  }
  if (base !== undefined && target !== undefined && canonical(base) === canonical(target)) return live;
  // A list of strings or numbers is one value: a command mixed from two is broken.
  if (![...live, ...(base ?? []), ...(target ?? [])].every(isObject)) return target ?? [];
  const known = new Set([...(base ?? []), ...(target ?? [])].map(canonical));
  return [...(target ?? []), ...live.filter((item) => !known.has(canonical(item)))];
}

/** Returns the items by `name`; undefined if an item has none or two share one. */
function byName(items: unknown[]): Map<string, unknown> | undefined {
  const named = new Map(items.map((item) => [field(item, 'name'), item]));
  return named.size === items.length && [...named.keys()].every((name) => typeof name === 'string')
    ? (named as Map<string, unknown>)
    : undefined;
}
