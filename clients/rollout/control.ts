import { Failure } from '../cli/failure.ts';
import { since } from '../pool/ask-pool.ts';
import type { Control, Controlled } from '../pool/control.ts';
import { rolloutLines } from './lines.ts';
import { knownRevisions } from './revisions/revisions.ts';
import { rolloutView, type RolloutView } from './view.ts';

export const Rollout: Controlled<RolloutView> = {
  viewOf: rolloutView,
  linesOf: async (pool, kube) => rolloutLines(rolloutView(pool, await knownRevisions(kube, pool)), Date.now()),
};

/** Phases that only create or remove VMs: the template is rolled out already. */
const SCALING = new Set(['ScalingOut', 'ScalingIn']);

export const pause: Control<RolloutView> = {
  signal: 'pause',
  what: 'pause',
  done: 'paused',
  check: ({ pool, paused }, { status }) => {
    if (status?.rollout?.paused === undefined) return;
    throw new Failure(`pool ${pool} is already paused, by ${since(paused!)}`);
  },
  isHandled: ({ paused }) => paused !== null && paused.at !== null,
};

export const resume: Control<RolloutView> = {
  signal: 'resume',
  what: 'resume',
  done: 'resumed',
  check: ({ pool, halted }, { spec, status }) => {
    if (status?.rollout?.paused !== undefined || halted !== null) return;
    if (spec.paused === true) throw new Failure(heldBySpec(pool));
    throw new Failure(
      `pool ${pool} is not paused, and its rollout has neither failed nor been aborted: nothing to resume`,
    );
  },
  isHandled: ({ paused, halted }) => (paused === null || paused.at === null) && halted === null,
  checkAfter: ({ metadata: { name }, spec }) => {
    if (spec.paused === true) throw new Failure(heldBySpec(name));
  },
};

export const abort: Control<RolloutView> = {
  signal: 'abort',
  what: 'abort',
  done: 'aborted',
  check: ({ pool, end, phase, halted }) => {
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
export const promote = (full: boolean): Control<RolloutView> => ({
  signal: 'promote',
  what: 'promote',
  more: { full },
  done: full ? 'promoted past all its steps' : 'promoted',
  check: ({ pool, step, end, phase }, { spec }) => {
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

const heldBySpec = (pool: string): string =>
  `spec.paused of pool ${pool} is true, and holds it: set it to false in its manifest, and apply that`;
