import { HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { isFinal, withSkip, withSkippedDelay, type HealingState } from '../healing/state.ts';
import { formatNames } from '../lib/names.ts';
import { listOf, name, taggedBy } from '../lib/payload-reader.ts';
import { isNewPool, NEW_POOL, withRequest, type Answer, type RequestNames } from '../owners/request.ts';
import { actOf, type RequestedAct } from '../rollout/state/state.ts';
import type { StoredPool } from '../views/pool.ts';

/** Where what users ask of healing stands on its pool. */
export const HEALING_REQUESTS: RequestNames = {
  request: HEALING_REQUEST_ANNOTATION,
  requestedBy: HEALING_REQUESTED_BY_ANNOTATION,
};

/** What users ask of healing; of VMs, by their names. */
export type HealingRequest =
  | { action: 'pause' }
  | { action: 'resume' }
  | { action: 'now'; vms: string[] }
  | { action: 'skip'; vms: string[] };
type OfVms = Extract<HealingRequest, { vms: string[] }>;

/** Limit of the status. */
const MOST_VMS = 100;

const ofVms = { vms: listOf(name, MOST_VMS) };

const healingRequest = taggedBy<'action', HealingRequest>('action', { pause: {}, resume: {}, now: ofVms, skip: ofVms });

interface HealingRequestInput {
  pool: StoredPool;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Returns the healing once the request that stands on its pool is answered. */
export function withHealingRequest(input: HealingRequestInput, state: HealingState): HealingState {
  const at = new Date(input.now).toISOString();
  return withRequest(input.pool, [HEALING_REQUESTS, healingRequest], state, at, (found) =>
    answered(input, state, found, at),
  );
}

type Answered = [after: HealingState, Answer];
type AttributedRequest = RequestedAct & { body: HealingRequest };

const refused = (state: HealingState, message: string): Answered => [state, { outcome: 'Refused', message }];
const done = (state: HealingState, message: string): Answered => [state, { outcome: 'Done', message }];

function answered(
  input: HealingRequestInput,
  state: HealingState,
  { body, ...who }: AttributedRequest,
  at: string,
): Answered {
  const reason = whyNot(input, state);
  if (reason !== null) return refused(state, reason);
  switch (body.action) {
    case 'pause':
      if (state.paused !== undefined) return refused(state, `healing is paused already, by ${state.paused.by}`);
      return done({ ...state, paused: actOf(who, at) }, 'paused');
    case 'resume': {
      const { paused, ...rest } = state;
      return paused === undefined ? refused(state, 'healing is not paused') : done(rest, 'resumed');
    }
    case 'now':
    case 'skip':
      return ofEach(state, body, who);
  }
}

/** Why nothing can be asked of this pool's healing; null if something can. */
function whyNot({ pool }: HealingRequestInput, { cycles }: HealingState): string | null {
  if (pool.metadata.deletionTimestamp !== undefined) return 'the pool is being deleted';
  if (isNewPool(pool)) return NEW_POOL;
  return pool.spec.autohealing === undefined && cycles.length === 0 ? 'the pool has no spec.autohealing' : null;
}

/** All of it, or nothing if some of it makes no sense. */
function ofEach(state: HealingState, { action, vms }: OfVms, who: RequestedAct): Answered {
  if (vms.length === 0) return refused(state, 'no VM is named');
  const faults = vms.flatMap((vm) => {
    const reason = action === 'now' ? whyNotNow(state, vm) : whyNotSkipped(state, vm);
    return reason === null ? [] : [`${vm}: ${reason}`];
  });
  if (faults.length > 0) return refused(state, faults.join('; '));
  const [names, isOne] = [formatNames(vms), vms.length === 1];
  return action === 'now'
    ? done(vms.reduce(withSkippedDelay, state), `${names} no longer ${isOne ? 'waits' : 'wait'}`)
    : done(
        vms.reduce((after, vm) => withSkip(after, vm, skippedBy(who)), state),
        `${names} ${isOne ? 'is' : 'are'} left as ${isOne ? 'it is' : 'they are'}`,
      );
}

function whyNotNow({ cycles, finished }: HealingState, vm: string): string | null {
  const cycle = cycles.find((one) => one.vm === vm);
  if (cycle?.phase === 'Provisioning') return `it is recreated already, as replacement ${cycle.attempt}`;
  if (cycle !== undefined || finished.some((one) => one.vm === vm && isFinal(one))) return null;
  return 'no replacement of it is in progress, and none was given up or skipped';
}

const whyNotSkipped = ({ cycles }: HealingState, vm: string): string | null =>
  cycles.some((one) => one.vm === vm) ? null : 'no replacement of it is in progress';

const skippedBy = (who: RequestedAct): string => {
  const { by, reason } = actOf(who, '');
  return `skipped by ${by}${reason === undefined ? '' : ` (${reason})`}`;
};
