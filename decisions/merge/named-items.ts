import { field } from '../lib/json.ts';

/** The name by which an item of a list is known: its own, or that of its metadata. */
const nameOf = (item: unknown): unknown => field(item, 'name') ?? field(item, 'metadata', 'name');

/** Returns the items by name; undefined if an item has none or two share one. */
export function byName(items: readonly unknown[]): Map<string, unknown> | undefined {
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  return byName.size === items.length && [...byName.keys()].every((name) => typeof name === 'string')
    ? (byName as Map<string, unknown>)
    : undefined;
}
