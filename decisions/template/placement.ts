import { canonical } from '../lib/canonical-json.ts';
import { field } from '../lib/json.ts';

/**
 * Serializes the fields of a VMI's spec that choose its node, so that two specs can be compared. Leaves out absent and
 * empty fields.
 */
export function placementOf(spec: unknown): string {
  const set = ['nodeSelector', 'affinity', 'tolerations']
    .map((key) => [key, field(spec, key)])
    .filter(([, value]) => !isEmpty(value));
  return canonical(Object.fromEntries(set));
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || Object.keys(value).length === 0;
