import { attemptIdOf, type AttemptId } from '../healing/attempt.ts';
import { stateFrom } from '../healing/state.ts';
import type { PoolPlanInput } from './plan-input.ts';

/** What a plan is made from, once it is known whether the pool's status overrules what its workflow knows. */
export interface Newest {
  input: PoolPlanInput;
  /** Whether the status overrules the workflow. */
  isOverruled: boolean;
  /** Attempts that the workflow knows of, and the status does not: they may still run. */
  cancel: AttemptId[];
}

/**
 * Lets the pool's status overrule a workflow that is older: its writes are counted, and only the pool's own workflow
 * writes it. So a status with more writes than the workflow knows of comes from later than the workflow: Temporal was
 * put back to an earlier moment, or the workflow was reset.
 */
export function withNewestState(input: PoolPlanInput): Newest {
  const { pool, writes, healing } = input;
  const { status } = pool;
  if (writes === undefined || (status?.writes ?? 0) <= writes) return { input, isOverruled: false, cancel: [] };
  const known = stateFrom(status?.healing);
  const going = new Set(known.cycles.map(keyOf));
  const cancel = (healing?.cycles ?? []).filter((cycle) => cycle.phase !== 'Provisioning' && !going.has(keyOf(cycle)));
  return { input: { ...input, rollout: null, healing: known }, isOverruled: true, cancel: cancel.map(attemptIdOf) };
}

const keyOf = ({ vm, uid, attempt, startedAt }: AttemptId): string => `${vm} ${uid} ${attempt} ${startedAt}`;
