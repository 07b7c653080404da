import { parseQuantity } from '../../api/lib/quantity.ts';
import { field, isObject, type Json } from '../lib/json.ts';

/** The fields of a PersistentVolumeClaim that show its growth. */
export interface GrowingClaim {
  spec?: { resources?: { requests?: Readonly<Record<string, unknown>> } };
  status?: {
    capacity?: Readonly<Record<string, unknown>>;
    conditions?: readonly unknown[];
    allocatedResourceStatuses?: Readonly<Record<string, string>>;
  };
}

/** How far the resize of a claim has come. */
type Growth = { state: 'grown' } | { state: 'growing'; message: string | null } | { state: 'refused'; message: string };

const BILLION = 1_000_000_000n;

/**
 * Returns the storage request that gives a claim's disk the size `to`; null if the claim already requests that much.
 * CDI requests more than the template does, for file system overhead: that ratio is kept.
 */
export function requestFor({ spec }: GrowingClaim, from: string | null, to: string): string | null {
  const [requested, was, wanted] = [spec?.resources?.requests?.['storage'], from, to].map(parseQuantity);
  if (wanted === null || wanted === undefined) return null;
  if (
    requested === null ||
    requested === undefined ||
    was === null ||
    was === undefined ||
    was <= 0n ||
    requested <= was
  )
    return (requested ?? 0n) >= wanted ? null : to;
  if (requested >= wanted) return null;
  const bytes = (wanted * requested) / was / BILLION;
  return String(bytes + 1n);
}

/** `request`: the storage that the claim requests. */
export function growthOf({ status = {} }: GrowingClaim, request: unknown): Growth {
  const conditions = (status.conditions ?? []).filter(isObject);
  const trueCondition = (type: string): Json | undefined =>
    conditions.find((condition) => condition['type'] === type && condition['status'] === 'True');
  if ((parseQuantity(status.capacity?.['storage']) ?? 0n) >= (parseQuantity(request) ?? 0n)) return { state: 'grown' };
  // The volume has grown; its file system is resized under the VMI that uses it, or under the next one.
  if (trueCondition('FileSystemResizePending') !== undefined) return { state: 'grown' };
  const error = trueCondition('ControllerResizeError') ?? trueCondition('NodeResizeError');
  const text = textOf(error, 'message') ?? textOf(error, 'reason') ?? textOf(trueCondition('Resizing'), 'message');
  if (status.allocatedResourceStatuses?.['storage']?.endsWith('Infeasible') === true)
    return { state: 'refused', message: text ?? 'the storage cannot give it that size' };
  return { state: 'growing', message: text };
}

function textOf(condition: Json | undefined, key: string): string | null {
  const text = field(condition, key);
  return typeof text === 'string' && text !== '' ? text : null;
}
