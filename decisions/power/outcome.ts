import type { VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { countsFrom } from '../disruption/grace.ts';
import { migrationCountsFrom, progressOfAttempt } from '../disruption/migration.ts';
import { isAtRest, isMeantToRun, liveVmi } from '../health/availability.ts';
import { silenceOf } from '../health/excused.ts';
import type { ChangeNeed } from '../views/annotations/recorded-change.ts';
import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';
import { progressOfRestart } from '../vm-update/progress.ts';
import { ACTION_LABELS, type PowerAction, type PowerDone } from './action.ts';

/** A VM in progress: from before it is acted on until its VMI is ready, or has ended if it was to stop. */
export interface VmInProgress {
  /** `namespace/name`. */
  vm: string;
  /** UID of the VM that was chosen: a later VM of its name is another one. */
  uid: string;
  /** Since when, in milliseconds since the epoch. */
  since: number;
  /** UID of the VMI that it had before; absent if it had none. */
  vmi?: string;
  /** How long the guest of that may take to shut down, in milliseconds; absent if no VMI is to end. */
  graceMs?: number;
  /** Which pod its VMI is to leave, and by which migration by drover, counted from 1: if it is migrated. */
  pod?: string;
  migration?: number;
  /** The VM should have run but was not ready beforehand: its outcome says nothing about the restart. */
  wasDown?: true;
}

/** How it ended for one VM. */
export interface PowerOutcome {
  vm: string;
  /** Which of the chosen VMs it is, if they are known by that. */
  index?: number;
  /** UID of the VM, if it has failed once it was in progress. */
  uid?: string;
  end:
    | PowerDone
    /** Not ready, stopped or migrated in time; or KubeVirt refused, or its migration failed. */
    | 'Failed'
    /** Deleted, stopped or started by a user meanwhile. */
    | 'Gone'
    /** Left as it is, or in part. */
    | 'Left';
  message?: string;
  /** What a change that is done takes until it has its whole effect; absent if that is nothing. */
  need?: Exclude<ChangeNeed, 'Nothing'>;
  /** Since when it was in progress, in milliseconds since the epoch; absent if it was not. */
  since?: number;
  wasDown?: true;
}

export type Verification = { is: 'well' } | { is: 'unknown'; why: string } | { is: 'wrong'; message: string };

export interface OutcomeInput {
  action: PowerAction;
  /** UID of the operation that changes the VMs; absent if none does. */
  by?: string;
  /** Shows what was done to the VMs in progress, or newer. */
  snapshot: VmsSnapshot;
  /** How long a VM may take to become ready, or to stop. */
  deadlineMs: number;
  /** A further check of a new VMI that is ready; none if absent. */
  verify?: (vm: VmView, live: VmiView) => Verification;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Returns how it ended for a VM in progress; null if it has not. */
export function outcomeOf(begun: VmInProgress, input: OutcomeInput): PowerOutcome | null {
  const { vm: key, uid, since, wasDown } = begun;
  const { action, snapshot, now } = input;
  const base = { vm: key, since, ...(wasDown === true && { wasDown }) };
  const vm = snapshot.vmOf(key);
  if (vm === undefined || vm.uid !== uid || vm.deleting) return { ...base, end: 'Gone', message: 'it was deleted' };
  const progress = PROGRESS[action](begun, vm, input);
  if ('end' in progress) return { ...base, ...progress };
  return now < deadlineOf(begun, input)
    ? null
    : { ...base, end: 'Failed', message: `${LATE[action]}: ${progress.why}` };
}

/** When the VM is late, in milliseconds since the epoch. */
export function deadlineOf(begun: VmInProgress, { action, snapshot, deadlineMs, now }: OutcomeInput): number {
  const vm = snapshot.vmOf(begun.vm);
  const own = vm && snapshot.vmiOf(vm);
  if (action === 'Migrate') {
    const isBegun = own?.evacuation?.attempt === begun.migration;
    return (own && isBegun ? migrationCountsFrom(own, begun.since, deadlineMs, now) : begun.since) + deadlineMs;
  }
  const isOld = (vmi: VmiView): boolean => action === 'Stop' || vmi.deleting || vmi.uid === begun.vmi;
  return countsFrom(begun, vm, own, isOld) + deadlineMs;
}

type Progress = Pick<PowerOutcome, 'end' | 'message' | 'need'> | { why: string };

const LATE: Record<PowerAction, string> = {
  Start: 'not ready in time',
  Restart: 'not ready in time',
  Stop: 'not stopped in time',
  Migrate: 'not migrated in time',
  Patch: 'not changed in time',
};

const PROGRESS: Record<PowerAction, (begun: VmInProgress, vm: VmView, input: OutcomeInput) => Progress> = {
  Start: progressOfStart,
  Restart: progressOfStart,
  Stop: (_begun, vm, { snapshot }) => progressOfStop(vm, snapshot.vmiOf(vm)),
  Migrate: progressOfMigration,
  Patch: progressOfChange,
};

const stopping = (vmi: VmiView | undefined): Progress => ({ why: `its VMI has not stopped${silenceOf(vmi)}` });

/** The progress of a VM that was started or restarted. */
function progressOfStart(begun: VmInProgress, vm: VmView, { action, snapshot, verify, now }: OutcomeInput): Progress {
  const vmi = snapshot.vmiOf(vm);
  // Asks the VM's own status too: the cached VMI may be older.
  const hasStopped = vmi === undefined ? !vm.hasVmi : isFinal(vmi) && !vmi.deleting;
  if (!isMeantToRun(vm, vmi)) return hasStopped ? { end: 'Gone', message: 'it was stopped' } : stopping(vmi);
  const isNew = (live: VmiView): boolean => action === 'Start' || live.uid !== begun.vmi;
  const progress = progressOfRestart({ vm, vmi, isNew, minReadyMs: 0, now });
  if (progress.state === 'waiting') return { why: progress.why };
  const live = liveVmi(vmi);
  const verified: Verification = (live && verify?.(vm, live)) ?? { is: 'well' };
  if (verified.is === 'unknown') return verified;
  return verified.is === 'well' ? { end: ACTION_LABELS[action].done } : { end: 'Failed', message: verified.message };
}

function progressOfMigration(begun: VmInProgress, vm: VmView, { snapshot, now }: OutcomeInput): Progress {
  const live = liveVmi(snapshot.vmiOf(vm));
  if (live === undefined || live.uid !== begun.vmi) return { end: 'Gone', message: 'it was stopped or restarted' };
  const { evacuation, pod, ready, whyNotReady } = live;
  const moved = pod !== (begun.pod ?? null);
  const isUnderWay = evacuation?.attempt === begun.migration && evacuation?.state === 'Unfinished';
  if (moved && !isUnderWay)
    return ready || begun.wasDown === true
      ? { end: ACTION_LABELS.Migrate.done }
      : { why: whyNotReady ?? 'its VMI is not ready' };
  const progress = progressOfAttempt(live, begun.migration ?? 1, now);
  return progress.state === 'failed' ? { end: 'Failed', message: progress.message } : { why: progress.why };
}

/** Done once KubeVirt has seen it or, if the VM was to be restarted for it, once it has come up. */
function progressOfChange(begun: VmInProgress, vm: VmView, input: OutcomeInput): Progress {
  const record = vm.changes.find(({ id }) => id === input.by);
  const isRestarted = record?.vmi !== undefined;
  const up = isRestarted ? progressOfStart({ ...begun, vmi: record.vmi! }, vm, input) : null;
  // Of a VM that a user has stopped, the next VMI has it.
  if (up !== null && (!('end' in up) || up.end === 'Failed')) return up;
  // Of a VM that is stopped, KubeVirt says nothing.
  const isRunning = liveVmi(input.snapshot.vmiOf(vm)) !== undefined;
  if (isRunning && !vm.generationObserved) return { why: 'KubeVirt has not observed its spec yet' };
  if (record?.kept !== undefined) return { end: 'Left', message: record.kept };
  const need = isRestarted ? 'Nothing' : (record?.need ?? 'Nothing');
  return { end: ACTION_LABELS.Patch.done, ...(need === 'Nothing' ? {} : { need }) };
}

function progressOfStop(vm: VmView, vmi: VmiView | undefined): Progress {
  if (isAtRest(vm, vmi)) return { end: 'Stopped' };
  // A request to stop stays in the VM's status until its VMI has ended.
  const runsAgain = isMeantToRun(vm, vmi) && !vm.changingState && vm.hasVmi && liveVmi(vmi) !== undefined;
  return runsAgain ? { end: 'Gone', message: 'it was started again' } : stopping(vmi);
}
