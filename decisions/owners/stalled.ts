import { MAX_DEPTH } from '../../api/lib/depth.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import { readinessConditions } from './readiness.ts';
const READINESS = new Set(['Ready', 'Reconciling', 'Stalled']);

const MESSAGE_LENGTH = 2_048;

const SHOWN_KEYS = 6;

/** When to plan again: the cause may pass without an event. */
export const AGAIN_MS = 60_000;

/** The sentence for a template that is nested too deep; `path` leads there. */
export const deepTemplate = (path: readonly string[]): string =>
  `${['spec.template', ...path.slice(0, SHOWN_KEYS)].join('.')} is nested deeper than ${MAX_DEPTH} levels: ` +
  'the template is not supported';

/** The sentence for an error in a decision. */
export const noPlan = (what: 'pool' | 'set', { message }: Error): string =>
  `no plan could be made for this ${what}, and nothing is done to its VMs: ${message}`;

/** Returns the conditions of an owner for which nothing can be done; null if its status has them already. */
export function stalledConditions(
  { metadata, status }: StoredVmOwner & { status?: { observedGeneration?: number } },
  reason: ConditionReason<'Stalled'>,
  message: string,
  now: string,
): Condition[] | null {
  const readiness = { state: 'Stalled', reason, message: message.slice(0, MESSAGE_LENGTH) } as const;
  const own = readinessConditions({ metadata, ...(status && { status }) }, readiness, now);
  const { conditions = [], observedGeneration } = status ?? {};
  const isSaid = own.every(({ type, message: said }) =>
    conditions.some((one) => one.type === type && one.message === said && one.reason === reason),
  );
  if (isSaid && observedGeneration === metadata.generation) return null;
  return [...own, ...conditions.filter(({ type }) => !READINESS.has(type))];
}
