import type { Condition } from '../../api/pool/pool.ts';
import type { StoredPool } from '../views/pool.ts';

/** A condition of which only its pool's status knows since when it holds. */
export type Untimed = Omit<Condition, 'lastTransitionTime'> & { reason: string };

/** Kubernetes' rule: the time of a condition is that of its last change of status. */
export function withTime({ status }: StoredPool, condition: Untimed, now: string): Condition {
  const before = status?.conditions?.find(({ type }) => type === condition.type);
  return {
    ...condition,
    lastTransitionTime: before?.status === condition.status ? (before.lastTransitionTime ?? now) : now,
  };
}
