import { ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { flag, name, optional, taggedBy, Unreadable, whole, type Reader } from '../../lib/payload-reader.ts';
import { isNewPool, NEW_POOL, withRequest, type Answer, type RequestNames } from '../../owners/request.ts';
import type { RolloutContext } from './context.ts';
import { halted, paused, promoted, resumed, unpaused, type RequestedAct } from './state.ts';

/** Where what users ask of a rollout stands on its pool. */
export const ROLLOUT_REQUESTS: RequestNames = {
  request: ROLLOUT_REQUEST_ANNOTATION,
  requestedBy: ROLLOUT_REQUESTED_BY_ANNOTATION,
};

/**
 * What users ask of a rollout. `revision`: of the rollout that is meant, by its hash; what goes further than a pause
 * or its end is for one rollout. `step`: the one to pass, counted from 1.
 */
export type RolloutRequest =
  | { action: 'pause' }
  | { action: 'resume'; revision?: string }
  | { action: 'abort'; revision: string }
  | { action: 'promote'; revision: string; step?: number; full?: boolean };
type RequestTo<A extends RolloutRequest['action']> = Extract<RolloutRequest, { action: A }>;

const tagged = taggedBy<'action', RolloutRequest>('action', {
  pause: {},
  resume: { revision: optional(name) },
  abort: { revision: name },
  promote: { revision: name, step: optional(whole), full: optional(flag) },
});

const rolloutRequest: Reader<RolloutRequest> = (value, what) => {
  const request = tagged(value, what);
  if (request.action === 'promote' && (request.step === undefined) === (request.full !== true))
    throw new Unreadable(`${what} must have either "step" with the number of the step to pass, or "full": true`);
  return request;
};

/** Returns the rollout once the request that stands on its pool is answered. */
export const withRolloutRequest = (context: RolloutRequestInput, state: RolloutStatus): RolloutStatus =>
  withRequest(context.input.pool, [ROLLOUT_REQUESTS, rolloutRequest], state, context.now, (found) =>
    answered(context, state, found),
  );

interface RolloutRequestInput extends Pick<RolloutContext, 'spec' | 'now'> {
  input: Pick<RolloutContext['input'], 'pool' | 'state'>;
}

type Answered = [after: RolloutStatus, Answer];

function answered(
  context: RolloutRequestInput,
  state: RolloutStatus,
  { body, ...who }: RequestedAct & { body: RolloutRequest },
): Answered {
  const reason = whyNot(context, state, body);
  if (reason !== null) return [state, { outcome: 'Refused', message: reason }];
  const after = carriedOut(context, state, body, who);
  return [after, { outcome: 'Done', message: done(context, after, body) }];
}

function carriedOut(
  { spec, now }: RolloutRequestInput,
  state: RolloutStatus,
  request: RolloutRequest,
  who: RequestedAct,
): RolloutStatus {
  switch (request.action) {
    case 'pause':
      return paused(state, who, now);
    case 'resume':
      // To end a pause alone needs no word about which rollout is meant.
      return request.revision === undefined ? unpaused(state) : resumed(state, now);
    case 'abort':
      return halted(state, 'Aborted', who, now);
    case 'promote':
      return promoted(state, spec.rollout.steps.length, request.full === true);
  }
}

/** Why a request is refused; null if it is not. */
function whyNot(context: RolloutRequestInput, state: RolloutStatus, request: RolloutRequest): string | null {
  const { input } = context;
  if (input.pool.metadata.deletionTimestamp !== undefined) return 'the pool is being deleted';
  if (isNewPool(input.pool)) return NEW_POOL;
  if ('revision' in request && request.revision !== undefined && request.revision !== state.revision)
    return `revision ${request.revision} is no longer rolled out: the template of the pool is revision ${state.revision}`;
  switch (request.action) {
    case 'pause':
      return state.paused === undefined || state.paused.bySignal === true
        ? null
        : `it is paused already, by ${state.paused.by}`;
    case 'resume':
      return whyNotResumed(context, state, request);
    case 'abort':
      if (state.halted !== undefined && state.halted.kind !== 'Undoing')
        return `the rollout is over already: ${state.halted.kind}, by ${state.halted.by}`;
      return state.completedAt === undefined ? null : 'no rollout is in progress';
    case 'promote':
      return whyNotPromoted(context, state, request);
  }
}

function whyNotResumed(
  { spec }: RolloutRequestInput,
  state: RolloutStatus,
  { revision }: RequestTo<'resume'>,
): string | null {
  const isStopped = state.halted !== undefined || state.failures.length > 0;
  if (state.paused !== undefined || (isStopped && revision !== undefined)) return null;
  if (isStopped) return needsRevision(state);
  return spec.paused ? 'spec.paused is true, and only the manifest can change that' : 'there is nothing to resume';
}

const needsRevision = ({ revision, halted: how }: RolloutStatus): string =>
  `the rollout has ${how === undefined ? 'failures' : `ended: ${how.kind}, by ${how.by}`}; ` +
  `a request with "revision": "${revision}" continues it`;

function whyNotPromoted(
  { spec }: RolloutRequestInput,
  { step: passed, stepReachedAt, halted: how, completedAt }: RolloutStatus,
  { step, full }: RequestTo<'promote'>,
): string | null {
  const of = spec.rollout.steps.length;
  if (of === 0) return 'the pool has no spec.rollout.steps';
  if (how !== undefined) return `the rollout has ended: ${how.kind}, by ${how.by}`;
  if (completedAt !== undefined) return 'no rollout is in progress';
  if (passed >= of) return `all of its ${of} steps are passed already`;
  const at = `it is at step ${passed + 1} of ${of}`;
  if (full === true) return null;
  if (step !== passed + 1) return `step ${step} is ${step! <= passed ? 'passed already' : 'still to come'}: ${at}`;
  return stepReachedAt === undefined ? `${at}, and has not reached it yet; "full": true passes all steps` : null;
}

/** Says what was done, and what still holds the rollout. */
function done({ spec }: RolloutRequestInput, after: RolloutStatus, request: RolloutRequest): string {
  const of = spec.rollout.steps.length;
  switch (request.action) {
    case 'pause':
      return 'paused';
    case 'abort':
      return 'aborted';
    case 'resume': {
      if (spec.paused) return 'resumed, but spec.paused still holds it';
      return after.halted === undefined ? 'resumed' : `the pause is over, but ${needsRevision(after)}`;
    }
    case 'promote': {
      const passed = request.full === true ? `passed all ${of} steps` : `passed step ${after.step} of ${of}`;
      return spec.paused || after.paused !== undefined ? `${passed}, and continues once it is resumed` : passed;
    }
  }
}
