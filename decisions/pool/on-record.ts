import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { AttemptId } from '../healing/attempt.ts';
import {
  attemptKey,
  stateFrom,
  withHealingSignal,
  type HealingRun,
  type HealingSignal,
  type HealingState,
} from '../healing/state.ts';
import { rfc3339 } from '../lib/time.ts';
import type { PoolStep } from '../owners/steps.ts';
import { withSignal, type RolloutSignal } from '../rollout/signals.ts';
import { actOf, isUnderWay, newRolloutState, paused } from '../rollout/state/state.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import type { PoolPlanInput } from './plan-input.ts';
import type { PoolPlan } from './plan.ts';

/** What a pool's workflow knows that the pool's status does not record. */
export interface PoolRun {
  /** Writes of the newest status that the workflow has seen; absent before the first. */
  writes?: number;
  /** What the workflow was told, and no plan has recorded yet. */
  told?: { rollout: readonly RolloutSignal[]; healing: readonly HealingSignal[] };
  healing?: HealingRun;
}

/** What a pool is planned from. */
export type GivenInput = Omit<PoolPlanInput, 'rollout' | 'healing'> & PoolRun;

/** What a plan is made from, once the pool's status is known, and what of the workflow's is not on record. */
interface OnRecord {
  input: PoolPlanInput;
  /** Numbers of batches that may no longer act. */
  lost: number[];
  /** Attempts whose cycles are over. */
  cancel: AttemptId[];
}

export const RESTORED = 'the API server was restored from a backup while this was in progress';

/**
 * Returns the input of a plan by the pool's status, which alone records how rollout and healing stand, with what the
 * workflow was told since. A batch or an attempt that is not on record, since its workflow was put back to an earlier
 * moment or another has taken its place, is over.
 */
export function onRecord(given: GivenInput): OnRecord {
  const { told: _told, writes: _writes, healing: run, ...rest } = given;
  const { status } = given.pool;
  const known = new Set(status?.rollout?.inFlight);
  const healing = healingOf(given);
  const cycles = new Set(healing.cycles.map(attemptKey));
  const running = (run?.attempts ?? []).filter(({ run: { state } }) => state === 'Running');
  return {
    input: { ...rest, batches: given.batches.filter(({ n }) => known.has(n)), rollout: rolloutOf(given), healing },
    lost: given.batches.filter(({ n }) => !known.has(n)).map(({ n }) => n),
    cancel: running.filter((one) => !cycles.has(attemptKey(one))).map(({ run: _run, ...id }) => id),
  };
}

/** Null for a pool that is new. */
function rolloutOf(given: GivenInput): RolloutStatus | null {
  const { pool, told, now } = given;
  const signals = told?.rollout ?? [];
  const at = rfc3339(now);
  const stored =
    pool.status?.rollout ?? (signals.length === 0 ? null : newRolloutState(revisionOf(poolTemplate(pool.spec)), at));
  if (stored === null) return null;
  const rollout = signals.reduce(withSignal, stored);
  const isPaused = rollout.paused !== undefined && rollout.paused.bySignal !== true;
  return isRestored(given) && isUnderWay(rollout) && !isPaused ? paused(rollout, BY_RESTORE, at) : rollout;
}

function healingOf(given: GivenInput): HealingState {
  const { pool, told, healing: run, now } = given;
  const state = (told?.healing ?? []).reduce(withHealingSignal, stateFrom(pool.status?.healing, run));
  return isRestored(given) && state.cycles.length > 0 && state.paused === undefined
    ? { ...state, paused: actOf(BY_RESTORE, rfc3339(now)) }
    : state;
}

const BY_RESTORE = { by: 'drover', reason: RESTORED };

/** The status has fewer writes than the workflow has seen: what is forgotten may have held something back. */
const isRestored = ({ pool, writes = 0 }: GivenInput): boolean => (pool.status?.writes ?? 0) < writes;

/** Steps by the record: of batches and checks that it names; the end of a restore, until which it refuses requests. */
const ON_RECORD: ReadonlySet<PoolStep['kind']> = new Set(['update', 'lookAtCheck', 'recordUid']);

/**
 * Returns the plan without what rests on its record, which could not be written: what the workflow knows, and was told,
 * stays as it is.
 */
export const unrecorded = (plan: PoolPlan): PoolPlan => {
  const { events: _events, ...rest } = plan;
  return {
    ...rest,
    steps: plan.steps.filter(({ kind }) => !ON_RECORD.has(kind)),
    rollout: { ...plan.rollout, superseded: [], lost: [] },
    healing: { ...plan.healing, begin: [], cancel: [], events: [] },
  };
};
