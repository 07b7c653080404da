import { canonical } from '../lib/canonical-json.ts';
import { isObject } from '../lib/json.ts';

/**
 * Reports whether two VM templates are one to KubeVirt: it reads them into Go's structures, and writes out empty fields
 * that users leave out.
 */
export const isSameTemplate = (a: unknown, b: unknown): boolean =>
  canonical(withoutEmpty(a)) === canonical(withoutEmpty(b));

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => !isEmpty(inner)));
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);
