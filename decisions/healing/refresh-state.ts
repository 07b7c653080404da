import { CAPS } from '../../api/lib/caps.ts';
import { isActive, isReady } from '../health/availability.ts';
import { isExempt } from '../health/excused.ts';
import { rfc3339, timeOf } from '../lib/time.ts';
import type { VmView } from '../views/vm.ts';
import { expiresAt } from './backoff.ts';
import {
  isFinal,
  type EarlyExits,
  type Failing,
  type FinishedCycle,
  type HealingState,
  type LeftAlone,
  type VmiPause,
} from './state.ts';
import type { HealingView } from './view.ts';
import { endedEarly, hasFailedDisk, isAvailable, isNextAfter } from './vm-health.ts';

/** Forgets cycles that have faded, deleted VMs, and failures of VMs that run well again. */
export function refreshState(view: HealingView): HealingState {
  const { vms, vmiOf, state, rules, minReadyMs, now } = view;
  const known = new Map(state.earlyExits.map((ends) => [ends.vmUid, ends]));
  const failedBefore = new Map(state.failing.map(({ vmUid, since }) => [vmUid, since]));
  const pausedBefore = new Map(state.vmiPauses.map((pause) => [pause.vmUid, pause]));
  const failing: Failing[] = [];
  const vmiPauses: VmiPause[] = [];
  const earlyExits: EarlyExits[] = [];
  const uids = new Map<string, VmView>();
  for (const vm of vms) {
    uids.set(vm.uid, vm);
    if (isAvailable(vm, vmiOf(vm), minReadyMs, now)) continue;
    const before = pausedBefore.get(vm.uid);
    if (isExempt(vm, vmiOf(vm))) vmiPauses.push({ vmUid: vm.uid, endedAt: null });
    else if (before !== undefined && !isReady(vm, vmiOf(vm)))
      vmiPauses.push({ ...before, endedAt: before.endedAt ?? now });
    const ends = earlyExitsOf(view, vm, known.get(vm.uid));
    if (ends.count > 0) earlyExits.push(ends);
    const fails = vm.startFailures + ends.count > 0 && rules.minFailingToStartDuration !== null;
    const since = failedBefore.get(vm.uid);
    if (fails) failing.push({ vmUid: vm.uid, since: since ?? vm.notReadySince ?? now });
    // A long import that fails once is not late: it counts from its failure.
    else if (hasFailedDisk(vm)) failing.push({ vmUid: vm.uid, since: since ?? now });
  }
  const finished: FinishedCycle[] = [];
  for (const known of state.finished) {
    const one = ofNext(known, view);
    const vm = uids.get(one.uid);
    if (isFinal(one) && vm !== undefined) {
      const isWell = isAvailable(vm, vmiOf(vm), minReadyMs, now);
      finished.push(isWell ? { ...one, end: 'Healed', message: 'it runs well again', at: rfc3339(now) } : one);
    } else if (expiresAt(Date.parse(one.at), rules.backoff) > now) finished.push(one);
  }
  return { ...withLeftAlone(state, vms, now), finished, earlyExits, failing, vmiPauses };
}

/**
 * If a user skips a VM that is already deleted, the skip applies to its replacement. As long as an attempt may still
 * be deleting the VM, which VM it leaves is not known.
 */
function ofNext(finished: FinishedCycle, { vms, busy }: HealingView): FinishedCycle {
  if (finished.uid !== '' || !isFinal(finished) || busy.has(finished.vm)) return finished;
  const next = vms.find((vm) => vm.name === finished.vm && isActive(vm));
  return next === undefined ? finished : { ...finished, uid: next.uid };
}

/** Adds the VMIs that have failed since to the known early ends. */
function earlyExitsOf(
  { failedVmisOf, vmiOf, rules, minReadyMs }: HealingView,
  vm: VmView,
  known: EarlyExits | undefined,
): EarlyExits {
  let ends: EarlyExits = known ?? { vmUid: vm.uid, count: 0, vmis: [], endedAt: 0 };
  const vmi = vmiOf(vm);
  const vmis = vmi?.phase === 'Failed' ? [...failedVmisOf(vm), vmi] : failedVmisOf(vm);
  for (const failed of vmis) {
    const { uid, endedAt } = failed;
    if (endedAt === null || endedAt < ends.endedAt || ends.vmis.includes(uid)) continue;
    const isNext = isNextAfter(ends.endedAt, failed, minReadyMs);
    const count = endedEarly(failed, minReadyMs)
      ? Math.min((isNext ? ends.count : 0) + 1, rules.startupFailureThreshold)
      : 0;
    ends = { vmUid: vm.uid, count, vmis: endedAt === ends.endedAt ? [...ends.vmis, uid] : [uid], endedAt };
  }
  return ends;
}

/**
 * The state handed to the next turn. If many VMs fail, it holds only the VMs that are closest to being replaced;
 * workers remember the others. For pauses that it has no place for, one time counts for all VMs.
 */
export function carried(state: HealingState): HealingState {
  const { earlyExits, failing, vmiPauses } = state;
  const paused = few(vmiPauses, CAPS.vmiPauses, (a, b) => endOf(b) - endOf(a));
  return {
    ...state,
    earlyExits: few(earlyExits, CAPS.vmsWatched, (a, b) => b.count - a.count),
    failing: few(failing, CAPS.vmsWatched, (a, b) => a.since - b.since),
    vmiPauses: paused,
    ...leftAloneBy(state, new Set(paused)),
  };
}

/** Returns the time that counts for the VMs that were left alone, without those that are `known`. */
function leftAloneBy(
  { vmiPauses, leftAlone }: Pick<HealingState, 'vmiPauses' | 'leftAlone'>,
  known: ReadonlySet<VmiPause> = new Set(),
): { leftAlone?: LeftAlone } {
  const unknown = vmiPauses.filter((one) => !known.has(one)).map(endOf);
  const ends = [...unknown, ...(leftAlone === undefined ? [] : [Date.parse(leftAlone.endedAt ?? '') || LASTS])];
  if (ends.length === 0) return {};
  const last = Math.max(...ends);
  return { leftAlone: last === LASTS ? {} : { endedAt: rfc3339(last) } };
}

/** Notes that what lasted when the last plan was made may be over, and forgets what counts for no VM any more. */
function withLeftAlone(
  { leftAlone, ...state }: HealingState,
  vms: readonly Pick<VmView, 'notReadySince'>[],
  now: number,
): HealingState {
  if (leftAlone === undefined) return state;
  const until = timeOf(leftAlone.endedAt) ?? now;
  const counts = vms.some(({ notReadySince: since }) => since !== null && since < until);
  return counts ? { ...state, leftAlone: { endedAt: rfc3339(until) } } : state;
}

const LASTS = Number.MAX_SAFE_INTEGER;
const endOf = ({ endedAt }: VmiPause): number => endedAt ?? LASTS;

/** The first entries in the order `first`, sorted by UID so that the result is deterministic. */
const few = <T extends { vmUid: string }>(all: readonly T[], most: number, first: (a: T, b: T) => number): T[] =>
  all
    .toSorted((a, b) => first(a, b) || byVmUid(a, b))
    .slice(0, most)
    .toSorted(byVmUid);

const byVmUid = (a: { vmUid: string }, b: { vmUid: string }): number => (a.vmUid < b.vmUid ? -1 : 1);

/** What is known of a VM's health beyond what the VM and its VMI say, as `healthOf` takes it. */
export interface HealthMemory {
  earlyExits: number;
  failingSince: number | null;
  pauseEndedAt: number | null;
}

export function memoryOf({
  earlyExits,
  failing,
  vmiPauses,
  leftAlone,
}: HealingState): (vm: { uid: string }) => HealthMemory {
  const ends = new Map(earlyExits.map(({ vmUid, count }) => [vmUid, count]));
  const since = new Map(failing.map((one) => [one.vmUid, one.since]));
  const pauses = new Map(vmiPauses.map(({ vmUid, endedAt }) => [vmUid, endedAt]));
  return ({ uid }) => ({
    earlyExits: ends.get(uid) ?? 0,
    failingSince: since.get(uid) ?? null,
    pauseEndedAt: pauses.get(uid) ?? timeOf(leftAlone?.endedAt),
  });
}
