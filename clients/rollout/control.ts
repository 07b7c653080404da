import type { Stored } from '../../api/objects.ts';
import { Failure } from '../cli/failure.ts';
import type { DryRun } from '../cli/values.ts';
import { requestOfPool, since, type PoolRequest } from '../pool/ask-pool.ts';
import type { Pool } from '../pool/objects.ts';
import type { Session } from '../session/session.ts';
import { rolloutView, type RolloutView } from './view.ts';

/** A person's request to a rollout in progress. */
export interface Control {
  signal: 'pause' | 'resume' | 'abort' | 'promote';
  more?: PoolRequest['more'];
  /** Its outcome in words, such as `paused`. */
  done: string;
  /** Throws `Failure` if the request makes no sense for the pool as it is. */
  check: (pool: Stored<Pool>, view: RolloutView) => void;
  /** Reports whether the pool's status shows that the request was taken, compared with the status `before`. */
  isHandled: (now: RolloutView, before: RolloutView) => boolean;
}

/** Phases that only create or remove VMs: the template is rolled out already. */
const SCALING = new Set(['ScalingOut', 'ScalingIn']);

export const pause: Control = {
  signal: 'pause',
  done: 'paused',
  check: ({ status }, { pool, paused }) => {
    if (status?.rollout?.paused === undefined) return;
    throw new Failure(`pool ${pool} is already paused, by ${since(paused!)}`);
  },
  isHandled: ({ paused }) => paused !== null && paused.at !== null,
};

export const resume: Control = {
  signal: 'resume',
  done: 'resumed',
  check: ({ spec, status }, { pool, halted }) => {
    if (status?.rollout?.paused !== undefined || halted !== null) return;
    if (spec.paused === true) throw new Failure(heldBySpec(pool));
    throw new Failure(
      `pool ${pool} is not paused, and its rollout has neither failed nor been aborted: nothing to resume`,
    );
  },
  isHandled: ({ paused, halted }) => (paused === null || paused.at === null) && halted === null,
};

export const abort: Control = {
  signal: 'abort',
  done: 'aborted',
  check: (_pool, { pool, end, phase, halted }) => {
    if (halted?.kind === 'Aborted')
      throw new Failure(`the rollout of pool ${pool} was already aborted, by ${since(halted)}`);
    if (end === 'Complete' || end === 'OutdatedVms' || SCALING.has(phase))
      throw new Failure(`nothing of pool ${pool} is rolled out now: nothing to abort`);
    if (end === 'Failed')
      throw new Failure(
        `the rollout of pool ${pool} is over, ${phase}: nothing to abort; \`drover rollout undo\` goes back`,
      );
  },
  isHandled: ({ halted }) => halted?.kind === 'Aborted',
};

/** With `full`, skips all remaining steps. */
export const promote = (full: boolean): Control => ({
  signal: 'promote',
  more: { full },
  done: full ? 'promoted past all its steps' : 'promoted',
  check: ({ spec }, { pool, step, end, phase }) => {
    if ((spec.rollout?.steps ?? []).length === 0)
      throw new Failure(`pool ${pool} has no spec.rollout.steps: nothing to promote`);
    if (end !== null && end !== 'Blocked')
      throw new Failure(`the rollout of pool ${pool} is over, ${phase}: nothing to promote`);
    if (step === null || SCALING.has(phase))
      throw new Failure(`nothing of pool ${pool} is rolled out yet: nothing to promote`);
    if (step.passed >= step.of)
      throw new Failure(`the rollout of pool ${pool} is past all its ${step.of} steps: nothing to promote`);
    // Otherwise two people who promote at the same time would skip a step.
    if (step.reachedAt !== null || full) return;
    throw new Failure(
      `the rollout of pool ${pool} has not reached step ${step.passed + 1} of ${step.of} yet; --full goes past all of them`,
    );
  },
  isHandled: (now, before) => {
    // If the rollout is over or has been replaced, there is no step left to compare.
    if (now.step === null || now.target.hash !== before.target.hash || now.end === 'Complete') return true;
    return now.step.passed >= (full ? now.step.of : before.step!.passed + 1);
  },
});

/**
 * Signals the pool's workflow, and returns the pool once its status shows that the signal was taken. Throws `Failure`
 * if the request makes no sense, if no workflow manages the pool, or if the status doesn't show it in time.
 */
export async function controlRollout(
  session: Session,
  pool: Stored<Pool>,
  control: Control,
  options: { reason?: string | undefined; dryRun: DryRun },
): Promise<Stored<Pool>> {
  const before = rolloutView(pool);
  if (pool.metadata.deletionTimestamp !== undefined) throw new Failure(`pool ${before.pool} is being deleted`);
  control.check(pool, before);
  return requestOfPool(
    session,
    pool,
    { ...control, what: control.signal, isHandled: (now) => control.isHandled(rolloutView(now), before) },
    options,
  );
}

/** Throws `Failure` if the request was carried out, but something else still pauses the pool. */
export function checkAfter({ signal }: Control, { metadata: { name }, spec }: Stored<Pool>): void {
  if (signal === 'resume' && spec.paused === true) throw new Failure(heldBySpec(name));
}

const heldBySpec = (pool: string): string =>
  `spec.paused of pool ${pool} is true, and holds it: set it to false in its manifest, and apply that`;
