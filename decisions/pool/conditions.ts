import type { Condition } from '../../api/pool/pool.ts';
import type { StoredPool } from '../views/pool.ts';

/** A condition without its transition time, which only the pool's status knows. */
export type Untimed = Omit<Condition, 'lastTransitionTime'> & { reason: string };

/** Follows Kubernetes: `lastTransitionTime` changes only with the condition's status. */
export function withTime({ status }: StoredPool, condition: Untimed, now: string): Condition {
  const before = status?.conditions?.find(({ type }) => type === condition.type);
  return {
    ...condition,
    lastTransitionTime: before?.status === condition.status ? (before.lastTransitionTime ?? now) : now,
  };
}
