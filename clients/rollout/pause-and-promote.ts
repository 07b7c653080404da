import { ROLLOUT_REQUESTS, type RolloutRequest } from '../../decisions/rollout/state/rollout-request.ts';
import { Failure } from '../cli/failure.ts';
import { controlsPools, type Control, type Controlled } from '../pool/control.ts';
import { since } from '../pool/request.ts';
import { knownRevisions } from '../pool/revisions.ts';
import { rolloutView, type RolloutView } from '../pool/view.ts';
import { rolloutLines } from './lines.ts';

export const Rollout: Controlled<RolloutView> = {
  viewOf: rolloutView,
  names: ROLLOUT_REQUESTS,
  handledIn: ({ status }) => status?.rollout?.handledRequests,
  linesOf: async (pool, kube) => rolloutLines(rolloutView(pool, await knownRevisions(kube, pool)), Date.now()),
};

const typed = (request: RolloutRequest): RolloutRequest => request;

/** Phases that only create or remove VMs: the template is rolled out already. */
const SCALING = new Set(['ScalingOut', 'ScalingIn']);

export const pause: Control<RolloutView> = {
  what: 'pause',
  done: 'paused',
  body: () => typed({ action: 'pause' }),
  check: ({ pool, paused }, { status }) => {
    const known = status?.rollout?.paused;
    if (known === undefined || known.bySignal === true) return;
    throw new Failure(`pool ${pool} is already paused, by ${since(paused!)}`);
  },
};

export const resume: Control<RolloutView> = {
  what: 'resume',
  done: 'resumed',
  // Which rollout is meant matters only if it has ended, or VMs of it have failed.
  body: ({ halted, failures, target }) =>
    typed({ action: 'resume', ...(halted === null && failures.length === 0 ? {} : { revision: target.hash }) }),
  check: ({ pool, halted, failures }, { spec, status }) => {
    if (status?.rollout?.paused !== undefined || halted !== null || failures.length > 0) return;
    if (spec.paused === true) throw new Failure(pausedBySpec(pool));
    throw new Failure(
      `pool ${pool} is not paused, and its rollout has neither failed nor been aborted: nothing to resume`,
    );
  },
  checkAfter: ({ metadata: { name }, spec }) => {
    if (spec.paused === true) throw new Failure(pausedBySpec(name));
  },
};

export const abort: Control<RolloutView> = {
  what: 'abort',
  done: 'aborted',
  body: ({ target }) => typed({ action: 'abort', revision: target.hash }),
  check: ({ pool, end, phase, halted }) => {
    if (halted?.kind === 'Aborted')
      throw new Failure(`the rollout of pool ${pool} was already aborted, by ${since(halted)}`);
    if (end === 'Complete' || end === 'OutdatedVms' || SCALING.has(phase))
      throw new Failure(`pool ${pool} has no rollout in progress: nothing to abort`);
    if (end === 'Failed')
      throw new Failure(
        `the rollout of pool ${pool} is over, ${phase}: nothing to abort; \`drover rollout undo\` goes back`,
      );
  },
};

/** With `full`, skips all remaining steps. */
export const promote = (full: boolean): Control<RolloutView> => ({
  what: 'promote',
  // If two users promote at the same time, one of them is refused: no step is skipped.
  body: ({ target, step }) =>
    typed({ action: 'promote', revision: target.hash, ...(full ? { full } : { step: (step?.passed ?? 0) + 1 }) }),
  done: full ? 'promoted past all its steps' : 'promoted',
  check: ({ pool, step, end, phase }, { spec }) => {
    if ((spec.rollout?.steps ?? []).length === 0)
      throw new Failure(`pool ${pool} has no spec.rollout.steps: nothing to promote`);
    if (end !== null && end !== 'Blocked')
      throw new Failure(`the rollout of pool ${pool} is over, ${phase}: nothing to promote`);
    if (step === null || SCALING.has(phase)) throw new Failure(`pool ${pool} has no rollout yet: nothing to promote`);
    if (step.passed >= step.of)
      throw new Failure(`the rollout of pool ${pool} is past all its ${step.of} steps: nothing to promote`);
    if (step.reachedAt !== null || full) return;
    throw new Failure(
      `the rollout of pool ${pool} has not reached step ${step.passed + 1} of ${step.of} yet; --full goes past all of them`,
    );
  },
});

const pausedBySpec = (pool: string): string =>
  `spec.paused of pool ${pool} is true, and holds it: set it to false in its manifest, and apply that`;

export const pauseRollouts = controlsPools(Rollout, () => pause);
export const resumeRollouts = controlsPools(Rollout, () => resume);
export const promoteRollouts = controlsPools(Rollout, ({ full }) => promote(full === true));
export const abortRollouts = controlsPools(Rollout, () => abort);
