import { durationMs, isDuration } from '../../api/lib/duration.ts';
import { countOf } from '../../api/lib/int-or-percent.ts';
import type { RolloutStatus, RolloutStep, StepCheck } from '../../api/pool/pool.ts';
import { availableSince, isDown, isMeantToRun, runsByItself } from '../health/availability.ts';
import { isRegular, type VmView } from '../views/vm.ts';
import type { RolloutTarget } from '../vm-update/need.ts';
import type { RolloutNeeds } from './candidates.ts';
import { checkRules, formatCheck, nextLookAt, seenOf, subjectOf, verdictOf } from './checks/check.ts';
import type { VmsInProgress } from './in-progress.ts';
import type { RolloutContext } from './state/context.ts';
import { failedIn, promoted } from './state/state.ts';

/** Where a rollout stands in its steps. */
interface StepProgress {
  state: RolloutStatus;
  /** How many more running VMs may be taken before the next step; null if no step is left. */
  remaining: number | null;
  /** Why the check of the step is to be looked at now; absent if it is not. */
  look?: string;
}

/**
 * Passes each step whose wait is over, and records when a step was reached. A step whose VMs are no longer available,
 * or are gone with all others, is not reached.
 */
export function stepProgress(
  context: RolloutContext,
  state: RolloutStatus,
  target: RolloutTarget,
  needs: RolloutNeeds,
  inProgress: VmsInProgress,
): StepProgress {
  const { steps } = context.spec.rollout;
  const { later } = needs;
  const free = needs.free.filter(({ vm }) => isRegular(vm));
  if (context.spec.update.kind !== 'proactive' || target.revision !== context.newest) return { state, remaining: null };
  // All VMs had this revision last: it needs no caution, and VMs that have left it should return to it.
  if (target.revision === context.current)
    return { state: state.completedAt === undefined ? unreached(state) : state, remaining: null };
  const isDone = free.length === 0 && later === 0 && inProgress.regular.size === 0;
  // If every VM has the target's revision already, no caution is needed.
  if (isDone && (state.batches === 0 || state.completedAt !== undefined)) return { state, remaining: null };
  const updated = updatedVms(context, state, target, { ...needs, free }, inProgress);
  for (const time of updated.availableAt) context.waits.requeue(time);
  for (let at = state; ; at = promoted(at, steps.length, false)) {
    const step = steps[at.step];
    if (step === undefined) return { state: at, remaining: null };
    const stepped = atStep(context, at, step, updated);
    if (stepped !== null) return stepped;
  }
}

/** The VMs that have been taken to the target's revision so far. */
interface UpdatedVms {
  count: number;
  /** When existing VMs became, or become, available, in order; milliseconds since the epoch. */
  availableAt: number[];
  /** How many existing VMs don't run, although their template has VMs run. */
  stopped: number;
  /** Whether some of them are in progress. */
  isMoving: boolean;
  /** Whether running VMs are still to come. */
  isToCome: boolean;
}

function updatedVms(
  context: RolloutContext,
  state: RolloutStatus,
  target: RolloutTarget,
  { free, laterRunning }: Pick<RolloutNeeds, 'free' | 'laterRunning'>,
  inProgress: VmsInProgress,
): UpdatedVms {
  const { vmiOf } = context.input;
  const isMoving = inProgress.regular.size > 0;
  const wanting = new Set(free.map(({ vm }) => vm.name));
  const there = towards(context, state, target).filter(
    (vm) => !wanting.has(vm.name) && !inProgress.regular.has(vm.name),
  );
  const minReadyMs = context.spec.rollout.minReadySeconds * 1000;
  const mayStop = !runsByItself(target.template);
  const telling = there.filter((vm) => mayStop || isMeantToRun(vm, vmiOf(vm)));
  return {
    count: there.length + inProgress.regular.size,
    availableAt: telling.flatMap((vm) => availableSince(vm, vmiOf(vm), minReadyMs) ?? []).sort((a, b) => a - b),
    stopped: there.length - telling.length,
    isMoving,
    isToCome: isMoving || laterRunning > 0 || free.some(({ vm }) => isMeantToRun(vm, vmiOf(vm))),
  };
}

/** Returns where the rollout stands at this step; null if the step is passed. */
function atStep(
  context: RolloutContext,
  at: RolloutStatus,
  step: RolloutStep,
  updated: UpdatedVms,
): StepProgress | null {
  const { waits } = context;
  const { steps } = context.spec.rollout;
  const { now } = context.input;
  const most = countOf(step.to, context.spec.replicas, 1);
  const remaining = most - updated.count;
  const label = `step ${at.step + 1} of ${steps.length} (${step.to})`;
  const available = updated.availableAt.filter((time) => time <= now);
  const isEmpty = context.active.length === 0;
  if (isEmpty) waits.for('Step', `${label}: the pool has no VM`);
  if (available.length < most && (updated.isToCome || isEmpty)) {
    if (remaining <= 0 && !updated.isMoving)
      waits.for('Step', `${label}: ${whyNotReached(most - available.length, updated.stopped)}`);
    return { state: unreached(at), remaining };
  }
  // A VM of this step that was down meanwhile, noticed or not, has not been available the whole time.
  const lastAt = available[Math.min(most, available.length) - 1] ?? 0;
  const since = Math.max(Date.parse(at.stepReachedAt ?? context.now), lastAt);
  const reached = { state: { ...at, stepReachedAt: new Date(since).toISOString() }, remaining };
  const { wait, check } = step.then;
  if (check !== undefined) return atCheck(context, check, reached, label);
  // An unreadable wait may have been stored before the API server refused such: its length is unknown.
  if (wait === undefined || !isDuration(wait)) {
    const message =
      wait === undefined ? '' : `its wait ${JSON.stringify(wait)} is not a duration such as 30s, 10m or 1h30m, and so `;
    waits.for('Approval', `${label} is reached: ${message}it waits for \`drover rollout promote\``);
    return reached;
  }
  // A stopped rollout reports no waiting time; once it continues, the time that has passed counts.
  if (context.isStopped(at)) return reached;
  const until = since + durationMs(wait);
  if (until <= now) return null;
  waits.requeue(until);
  waits.for('Step', `${label} is reached: it continues at ${new Date(until).toISOString()}`);
  return reached;
}

/** Returns where the rollout stands at a step that is reached and has a check; null if the step is passed. */
function atCheck(context: RolloutContext, check: StepCheck, reached: StepProgress, label: string): StepProgress | null {
  const { input, waits } = context;
  const { now, pool } = input;
  const { state } = reached;
  // A stopped rollout neither passes nor fails, and its check is not looked at.
  if (context.isStopped(state)) return reached;
  const seen = seenOf(check, pool.status?.check, subjectOf(check, state), now);
  const verdict = verdictOf(check, seen);
  if (verdict === 'Passed') return null;
  waits.for(verdict === 'Unjudged' ? 'Approval' : 'Check', `${label} is reached: ${formatCheck(check, seen, verdict)}`);
  const at = nextLookAt(check, seen);
  waits.requeue(at);
  if (at > now) return reached;
  waits.requeue(now + checkRules(check).everyMs);
  return { ...reached, look: `look at the check of ${label}` };
}

/** Says what keeps a step from being reached: VMs of it that are stopped, or that are not ready. */
function whyNotReached(missing: number, stopped: number): string {
  const [notRunning, notReady] = [Math.min(stopped, missing), missing - Math.min(stopped, missing)];
  return [...ofIts(notRunning, 'stopped'), ...ofIts(notReady, 'not ready')].join(', ');
}

const ofIts = (count: number, what: string): string[] =>
  count === 0 ? [] : [`${count} of its VMs ${count === 1 ? 'is' : 'are'} ${what}`];

/** The step's wait begins again when the step is reached, and users can't promote past it until then. */
function unreached(state: RolloutStatus): RolloutStatus {
  const { stepReachedAt: _stepReachedAt, ...rest } = state;
  return rest;
}

/**
 * Returns the VMs with the target's spec. A VM that isn't ready counts too, so that no other VM follows a VMI that
 * crashes at its step. So does a VM that its owner stops: no other takes its place before the step is passed. Only a VM
 * that has failed and is down is made up for.
 */
function towards(context: RolloutContext, state: RolloutStatus, target: RolloutTarget): VmView[] {
  const hasFailed = failedIn(state);
  const isGivenUp = (vm: VmView): boolean => hasFailed(vm) && isDown(vm, context.input.vmiOf(vm));
  return context.active.filter((vm) => vm.revision === target.revision && !isGivenUp(vm));
}
