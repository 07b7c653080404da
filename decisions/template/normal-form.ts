import { parseQuantity } from '../../api/lib/quantity.ts';
import { isObject } from '../lib/json.ts';

/** Fields of KubeVirt's templates that are Kubernetes quantities, outside lists of resources. */
const QUANTITIES = new Set(['capacity', 'guest', 'maxGuest', 'sizeLimit']);
/** Lists of resources: all their values are quantities. */
const RESOURCES = new Set(['limits', 'requests']);
/** Maps of texts, which may have any key and value. */
const TEXTS = new Set(['annotations', 'labels', 'matchLabels', 'nodeSelector']);
/** Objects that KubeVirt has in any case. An empty one elsewhere is a choice, as `masquerade: {}` is. */
const ALWAYS_THERE = new Set(['devices', 'metadata', 'resources']);

/** No field of KubeVirt's is deeper; but a template may hold anything, also what the stack has no room for. */
const MAX_DEPTH = 64;

/** Thousands of VMs come from a few templates. */
const known = new WeakMap<object, object>();

/**
 * Returns a template in the one spelling that all templates have which KubeVirt can't tell from it. It reads VMs into
 * Go's structures, and compares those by Kubernetes' `equality.Semantic`: quantities by amount, and null and empty
 * lists and maps are as good as absent. An explicit default (`false`, 0) is not: that may be a pointer, which is set.
 */
export function normalForm<T extends object>(template: T): T {
  const found = known.get(template) ?? (normal(template, '', 0) as object | undefined) ?? {};
  known.set(template, found);
  known.set(found, found);
  return found as T;
}

function normal(value: unknown, key: string, depth: number): unknown {
  if (value === null) return undefined;
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item) => normal(item, key, depth + 1) ?? null);
  if (!isObject(value)) return QUANTITIES.has(key) ? amountOf(value) : value;
  const inner = (each: string, one: unknown): unknown => {
    if (TEXTS.has(key)) return one ?? undefined;
    return RESOURCES.has(key) && !isObject(one) ? amountOf(one) : normal(one, each, depth + 1);
  };
  const entries = Object.entries(value)
    .map(([each, one]) => [each, inner(each, one)] as const)
    .filter(([, one]) => one !== undefined);
  const mayBeAbsent = TEXTS.has(key) || RESOURCES.has(key) || ALWAYS_THERE.has(key);
  return entries.length === 0 && mayBeAbsent ? undefined : Object.fromEntries(entries);
}

/** In billionths, the smallest unit of a quantity. */
function amountOf(value: unknown): unknown {
  const amount = parseQuantity(value);
  return amount === null ? (value ?? undefined) : `${amount}n`;
}
