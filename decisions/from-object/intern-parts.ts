import { MAX_DEPTH } from '../../api/lib/depth.ts';

const MAX_KEPT = 20_000;
/** Each object by the values and the numbers of the parts that it consists of. */
const kept = new Map<string, object>();
const numbers = new WeakMap<object, number>();
let last = 0;

/**
 * Returns a copy of a JSON value that shares every part with the other copies that have an equal one: the specs of
 * thousands of VMs differ in a few fields. Null for a value that is nested deeper than KubeVirt's API.
 */
export function internParts<T extends object>(value: T): T | null {
  if (kept.size >= MAX_KEPT) kept.clear();
  return partOf(value, 0) as T | null;
}

function partOf(value: object, depth: number): object | null {
  if (depth >= MAX_DEPTH) return null;
  let key = Array.isArray(value) ? '[' : '{';
  const parts: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
    const isLeaf = typeof inner !== 'object' || inner === null;
    const part = isLeaf ? inner : partOf(inner, depth + 1);
    if (!isLeaf && part === null) return null;
    key += `${JSON.stringify(name)}:${isLeaf ? JSON.stringify(inner) : `#${numbers.get(part as object)}`},`;
    parts.push([name, part]);
  }
  const known = kept.get(key);
  if (known !== undefined) return known;
  const part = Array.isArray(value) ? parts.map(([, inner]) => inner) : Object.fromEntries(parts);
  numbers.set(part, ++last);
  kept.set(key, part);
  return part;
}
