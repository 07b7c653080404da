import { HEALING_REQUEST_ANNOTATION, MEMBERSHIP_REQUEST_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { durationMs, isDuration } from '../../api/lib/duration.ts';
import type { HandledRequest, PoolStatus, RolloutStatus, StepCheck } from '../../api/pool/pool.ts';
import { olderContent } from '../configuration/older-content.ts';
import { stateFrom } from '../healing/state.ts';
import { isActive, isReady } from '../health/availability.ts';
import { membershipRequestOf } from '../membership/membership-request.ts';
import { withAnswer, type Annotations } from '../owners/request.ts';
import { withChanges } from '../rollout/changes.ts';
import { known, subjectOf, verdictOf, type Verdict } from '../rollout/checks/check.ts';
import { RolloutContext, type RolloutInput } from '../rollout/state/context.ts';
import { withRolloutRequest } from '../rollout/state/rollout-request.ts';
import { newRolloutState } from '../rollout/state/state.ts';
import { namedRemovals } from '../views/annotations/named-vms.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular } from '../views/vm.ts';
import { templatesOf } from './context.ts';
import { withHealingRequest } from './healing-request.ts';
import type { PoolPlanInput } from './plan-input.ts';

/** How far the clock of the worker that writes a status may be behind Temporal's, by which plans count. */
const AHEAD_MS = 60_000;
/** A status is written at most this long after its plan, or after a new plan. */
const OLD_MS = 600_000;

/** What tells whether a status is true; `pool`: as it is, with the status that is to be replaced. */
type StatusInput = Pick<
  PoolPlanInput,
  'pool' | 'vms' | 'vmiOf' | 'revisions' | 'contents' | 'strategy' | 'nodeLabelsOf' | 'now'
> & {
  /** Annotations that the pool has had before, the oldest first: requests that were overwritten meanwhile. */
  earlier: readonly Annotations[];
};

/** What a workflow knows besides, which proves nothing. */
const NOTHING_DONE = {
  batches: [],
  queued: [],
  busy: new Set<string>(),
  evacuating: new Set<string>(),
  isHealed: () => false,
  isChangingMembers: false,
  notBefore: 0,
};

/**
 * Returns why a status must not be written; null if it may be. A workflow says what a status is to be, and every caller
 * who reaches Temporal may forge its messages. So what holds a rollout or healing back in the pool's own status (a
 * pause, a halt, a step, the revision that all VMs had last) ends only if the pool in Kubernetes shows the cause: a
 * request that stands on it, another template, changed content that VMs have read, or time.
 */
export function whyUnverified(seen: StatusInput, after: PoolStatus): string | null {
  const { pool, vms, vmiOf } = seen;
  const before = pool.status;
  if (before === undefined) return null;
  const templateOf = templatesOf(seen);
  const { changeFor } = olderContent({ pool, vms, vmiOf, templateOf, contents: seen.contents });
  const input = { ...seen, ...NOTHING_DONE, templateOf, changeFor, state: before.rollout ?? null };
  return (
    whyNotRolledOut(input, before.rollout, after.rollout) ??
    whyNotCurrent(input, after.currentRevision) ??
    whyNotHealed(input, after) ??
    whyNotMoved(input, after)
  );
}

type CheckInput = RolloutInput & Pick<StatusInput, 'earlier'>;

function whyNotRolledOut(
  input: CheckInput,
  before: RolloutStatus | undefined,
  after: RolloutStatus | undefined,
): string | null {
  if (before === undefined) return null;
  if (after === undefined) return 'it no longer says where the rollout stands';
  const context = new RolloutContext(input);
  const { newest, now } = context;
  const starts = before.revision === newest ? [before] : [before, newRolloutState(newest, now, before)];
  const bases = starts.flatMap((start) => [
    start,
    answered(input, start, after.handledRequests, (pool, state) => {
      const { spec } = context;
      return withRolloutRequest({ input: { pool, state }, spec, now }, state);
    }),
  ]);
  const messages = bases.map((base) => whyLooser(context, base, after));
  if (messages.includes(null)) return null;
  const isForContent = bases.some((base) => whyLooser(context, withChanges(context, base), after) === null);
  return isForContent
    ? null
    : (messages.findLast((_message, at) => bases[at]!.revision === after.revision) ?? messages[0]!);
}

/** Returns the state once those requests are answered that have stood on the pool, and that the status would answer. */
function answered<State extends { handledRequests?: HandledRequest[] }>(
  { pool, earlier }: CheckInput,
  start: State,
  after: Answers = [],
  answer: (pool: StoredPool, state: State) => State,
): State {
  const digests = new Set(after.map(({ digest }) => digest));
  const isAnswered = (state: State): boolean => digests.has(state.handledRequests?.at(-1)?.digest ?? '');
  return [...earlier, pool.metadata.annotations ?? {}].reduce((state, annotations) => {
    const next = answer({ ...pool, metadata: { ...pool.metadata, annotations } }, state);
    return isAnswered(next) ? next : state;
  }, start);
}

/** Returns why nothing allows `after` if the rollout is held by `base`; null if that holds it no less. */
function whyLooser(
  { spec, input: { now, pool } }: RolloutContext,
  base: RolloutStatus,
  after: RolloutStatus,
): string | null {
  const { paused, halted } = base;
  if (after.revision !== base.revision) return `revision ${after.revision} is not rolled out`;
  if (!isSameAnswers(base.handledRequests, after.handledRequests)) return 'it answers a request that does not exist';
  // Every caller who reaches Temporal may pause by a signal, and resume by one.
  if (paused !== undefined && paused.bySignal !== true && (after.paused ?? { bySignal: true }).bySignal === true)
    return `the rollout that ${paused.by} has paused was not resumed`;
  const isOver = halted?.kind === 'Undoing' ? after.halted === undefined : after.halted?.kind !== halted?.kind;
  if (halted !== undefined && isOver) return `the rollout that has ended (${halted.kind}) was not resumed`;
  const { steps } = spec.rollout;
  const check = steps[base.step]?.then.check;
  const verdict = check && verdictOf(check, known(pool.status?.check, subjectOf(check, base)));
  if (after.halted?.kind === 'Undoing' && halted === undefined && !mayUndo(spec.rollout, check, verdict))
    return 'its pool undoes no rollout';
  return whyNotPassed(steps, base, after, { now, verdict });
}

type Steps = RolloutContext['spec']['rollout']['steps'];

/** Reports whether the pool has a rollout undone that has failed, or whose check has. */
const mayUndo = (
  { onFailure }: RolloutContext['spec']['rollout'],
  check: StepCheck | undefined,
  verdict: Verdict | undefined,
): boolean => onFailure === 'Undo' || (verdict === 'Failed' && check?.onFailure === 'Undo');

/**
 * Steps end by a request, which `base` has taken into account, by time, or by a check. `verdict`: on the check of the
 * step that `base` is at, by what workers have recorded.
 */
function whyNotPassed(
  steps: Steps,
  base: RolloutStatus,
  after: RolloutStatus,
  { now, verdict }: { now: number; verdict: Verdict | undefined },
): string | null {
  let since = base.stepReachedAt === undefined ? now : Date.parse(base.stepReachedAt);
  for (let at = base.step; at < after.step; at++, since = now) {
    const { wait, check } = steps[at]?.then ?? {};
    if (check !== undefined && at === base.step && verdict === 'Passed') continue;
    if (check !== undefined) return `the check of step ${at + 1} has not passed`;
    if (wait === undefined || !isDuration(wait)) return `step ${at + 1} was not promoted`;
    if (since + durationMs(wait) > now + AHEAD_MS) return `step ${at + 1} has not lasted ${wait}`;
  }
  if (after.stepReachedAt === undefined) return null;
  const isSame = after.step === base.step && base.stepReachedAt !== undefined;
  const least = isSame ? Date.parse(base.stepReachedAt!) : now - OLD_MS;
  return Date.parse(after.stepReachedAt) >= least ? null : `step ${after.step + 1} was reached later`;
}

/** The last revision that all VMs reached: before the next one has come so far, steps and an undo go by it. */
function whyNotCurrent({ pool, vms, vmiOf }: RolloutInput, after: string | undefined): string | null {
  const { spec, metadata, status } = pool;
  if (status?.currentRevision === undefined || after === status.currentRevision) return null;
  const active = vms.filter(isRegular).filter(isActive);
  // VMs that are down may be in healing, and surplus ones are about to leave.
  const behind = active.filter(
    (vm) => vm.revision !== null && vm.revision !== after && !vm.optedOut && isReady(vm, vmiOf(vm)),
  );
  const leaving = Math.max(active.length - spec.replicas, 0) + namedRemovals(metadata.annotations).vms.size;
  return behind.length > leaving ? `${behind.length} VMs are not of revision ${after ?? 'unknown'}` : null;
}

function whyNotHealed(input: CheckInput, { healing }: PoolStatus): string | null {
  const { pool, now } = input;
  const before = stateFrom(pool.status?.healing);
  const after = answered(input, before, healing?.handledRequests, (it, state) =>
    withHealingRequest({ pool: it, isKnown: true, now }, state),
  );
  const bases = [before, after];
  const isVerified = bases.some(
    ({ paused, handledRequests }) =>
      isSameAnswers(handledRequests, healing?.handledRequests) &&
      (paused === undefined || healing?.paused !== undefined),
  );
  if (isVerified) return null;
  const isAnswered = isSameAnswers(before.handledRequests, healing?.handledRequests);
  return isAnswered
    ? `the healing that ${before.paused?.by} has paused was not resumed`
    : `it answers a request that does not exist by ${HEALING_REQUEST_ANNOTATION}`;
}

/** What became of a request about members is known to who carries it out. */
function whyNotMoved(input: CheckInput, { membership }: PoolStatus): string | null {
  const known = input.pool.status?.membership?.handledRequests;
  const before = known === undefined ? {} : { handledRequests: known };
  const after = answered<{ handledRequests?: HandledRequest[] }>(
    input,
    before,
    membership?.handledRequests,
    (pool, state) => {
      const found = membershipRequestOf({ ...pool, status: { ...pool.status!, membership: state } });
      return found === null ? state : { handledRequests: withAnswer(state.handledRequests, found, DONE, '') };
    },
  );
  return [before, after].some((one) => isSameAnswers(one.handledRequests, membership?.handledRequests))
    ? null
    : `it answers a request that does not exist by ${MEMBERSHIP_REQUEST_ANNOTATION}`;
}

const DONE = { outcome: 'Done', message: '' } as const;

type Answers = readonly Pick<HandledRequest, 'digest'>[];

const isSameAnswers = (before: Answers = [], after: Answers = []): boolean =>
  before.length === after.length && before.every(({ digest }, index) => digest === after[index]!.digest);
