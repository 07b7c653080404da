import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { dropsRivals } from './one-of.ts';

/** One field three times: as it is, as it was last written, and as it shall be written. Null is as good as absent. */
export interface Versions {
  live: unknown;
  base: unknown;
  target: unknown;
}

/**
 * What a field becomes: `target` wins in all that it sets, what only `base` set goes leaf by leaf, all else stays.
 * `key` is the name of the field, or of the list that it is an item of. Shares parts with what it was given, and
 * changes none.
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
  // A list of texts or numbers is one value: a command that keeps a word of another is broken.
  if (![...live, ...(base ?? []), ...(target ?? [])].every(isObject)) return target ?? [];
  const known = new Set([...(base ?? []), ...(target ?? [])].map(canonical));
  return [...(target ?? []), ...live.filter((item) => !known.has(canonical(item)))];
}

/** The items by their `name`; undefined where one has none, or two share one. */
function byName(items: unknown[]): Map<string, unknown> | undefined {
  const named = new Map(items.map((item) => [field(item, 'name'), item]));
  return named.size === items.length && [...named.keys()].every((name) => typeof name === 'string')
    ? (named as Map<string, unknown>)
    : undefined;
}
