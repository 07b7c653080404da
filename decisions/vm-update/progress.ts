import { progressOfAttempt } from '../disruption/migration.ts';
import { activeVmi, isActive, isMeantToRun, isReady, liveVmi, type VmiOf } from '../health/availability.ts';
import { silenceOf } from '../health/excused.ts';
import type { BatchVm } from '../owners/batch.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { liveProgress, type Expansion } from './live-update.ts';
import { isStartedFrom, otherLabel } from './started-from.ts';

/** How far the update of one VM has come. */
export type UpdateProgress =
  | { state: 'well' }
  /** The VM is no longer in the pool. */
  | { state: 'gone' }
  /** The running VMI has taken the change; its revision label doesn't say so yet. */
  | { state: 'applied' }
  /** The VMI needs a restart: KubeVirt refused to update it live, or started it from the old spec. */
  | { state: 'refused'; message: string }
  /** It can't get there: another try would end the same. */
  | { state: 'failed'; message: string }
  /** `until`: when the VM becomes available by the passing of time alone; milliseconds since the epoch. */
  | { state: 'waiting'; why: string; until?: number };

export interface ProgressInput {
  item: BatchVm;
  revision: string;
  /** The VM of that name, if the pool owns one. */
  vm: VmView | undefined;
  vmiOf: VmiOf;
  /** Expansion of the revision's template; absent if it refers to no instance type and no preference. */
  expansion?: Expansion | undefined;
  /** Whether the VM is still to be corrected; absent if that is no longer looked at. */
  hasDrift?: (vm: VmView) => boolean;
  minReadyMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

const waiting = (why: string): UpdateProgress & { state: 'waiting' } => ({ state: 'waiting', why });

export function progressOf(input: ProgressInput): UpdateProgress {
  const { item, revision, vm } = input;
  if (item.act === 'replace') {
    // It has left the pool, with its disks kept.
    if (vm?.uid === item.uid && vm.removing) return { state: 'gone' };
    if (vm === undefined || vm.uid === item.uid) return waiting('the VM that takes its place is not there yet');
  } else if (vm === undefined || vm.uid !== item.uid || !isActive(vm)) return { state: 'gone' };
  const isWritten = vm.revision === revision && (item.setsRight !== true || input.hasDrift?.(vm) !== true);
  if (!isWritten) return waiting('its new spec is not written yet');
  if (item.act === 'write') return { state: 'well' };
  return progressOfMigration(input, vm) ?? progressOfVmi(input, vm);
}

/** How far the migration has come by which the VMI gets a new pod; null if it has that, or none is made. */
function progressOfMigration({ item: { migration }, vmiOf, now }: ProgressInput, vm: VmView): UpdateProgress | null {
  const live = activeVmi(vm, vmiOf(vm));
  if (migration === undefined || live?.uid !== migration.vmi || live.podRevision === null) return null;
  return progressOfAttempt(live, migration.attempt, now);
}

/** How far the VMI of a VM has come that has its new spec. */
function progressOfVmi(
  { item, revision, vmiOf, expansion, minReadyMs, now }: ProgressInput,
  vm: VmView,
): UpdateProgress {
  const vmi = vmiOf(vm);
  const live = liveVmi(vmi);
  const isNew = (one: VmiView): boolean => one.revision === revision && one.uid !== item.vmi;
  if (live !== undefined && live.revision !== revision && isMeantToRun(vm, vmi))
    return item.act === 'live' ? progressOfLiveUpdate(vm, live, expansion) : progressOfOldVmi(vm, live);
  // If the VM is no longer meant to run, only a failure of the new revision's VMI is reported.
  if (vmi?.phase === 'Failed' && isNew(vmi) && !vmi.deleting && !isMeantToRun(vm, vmi))
    return waiting('its VMI has failed');
  return progressOfRestart({ vm, vmi, isNew, minReadyMs, now });
}

/** The batch has seen the previous VMI end: this one started by itself while the spec was written. */
function progressOfOldVmi(vm: VmView, live: VmiView): UpdateProgress {
  if (vm.changingState) return waiting('it has not restarted');
  return isStartedFrom(vm, live)
    ? { state: 'failed', message: otherLabel(live) }
    : { state: 'refused', message: 'it was started with its old spec' };
}

function progressOfLiveUpdate(vm: VmView, live: VmiView, expansion: Expansion | undefined): UpdateProgress {
  const progress = liveProgress(vm, live, expansion);
  if (progress.state === 'done') return { state: 'applied' };
  return progress.state === 'refused' ? progress : waiting(`${progress.why}${hindrance(vm, live)}`);
}

/** What KubeVirt says about a change that it has begun or cannot make, and of the migration that is to bring it. */
function hindrance({ failure }: VmView, { plugging, migration }: VmiView): string {
  const phase = migration && `its migration ${migration.name} is ${migration.phase}`;
  const quota = migration?.overQuota === true ? 'a ResourceQuota rejects its pod' : null;
  const parts = [plugging, phase, quota, failure].filter((one) => one !== null);
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

interface RestartProgressInput {
  vm: VmView;
  vmi: VmiView | undefined;
  /** Whether this VMI was started by the restart. */
  isNew: (live: VmiView) => boolean;
  minReadyMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Reports whether a VM that is being restarted is available again, or no longer needs to run. */
export function progressOfRestart(input: RestartProgressInput): Extract<UpdateProgress, { state: 'well' | 'waiting' }> {
  const { vm, vmi, isNew, minReadyMs, now } = input;
  if (!isMeantToRun(vm, vmi)) return { state: 'well' };
  const live = liveVmi(vmi);
  const blockedBy = vmi?.blockedBy ?? null;
  if (live === undefined && blockedBy !== null) return waiting(`its last VMI is held by the finalizer ${blockedBy}`);
  if (live === undefined) return waiting(`its VMI has not started${inState(vm)}${silenceOf(vmi)}`);
  if (!isNew(live)) return waiting(`it has not restarted${silenceOf(live)}`);
  const why = live.whyNotReady ?? `its VMI is not ready${inState(vm)}`;
  if (!isReady(vm, live)) return waiting(`${why}${silenceOf(live)}`);
  const until = (live.readySince ?? now - minReadyMs) + minReadyMs;
  return until <= now ? { state: 'well' } : { ...waiting('it has not been ready for long enough'), until };
}

function inState({ state, failure }: VmView): string {
  const parts = [state, failure].filter((one) => one !== null && one !== '');
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}
