import { durationMs } from '../../api/duration.ts';
import type { HealingRules } from '../../api/pool-defaults.ts';
import { isMeantToRun, isReady } from '../disruption-budget/availability.ts';
import { earlier } from '../lib/times.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/**
 * Whether a VM is to be replaced. `at`: when the clock alone may make it so, in milliseconds since the epoch. `spared`:
 * why one is not that a person may take for sick.
 */
export type Health = { sick: true; why: string } | { sick: false; at: number | null; spared?: string };

/** KubeVirt's states of a VM that waits for something which a new VM would wait for as well. */
const WAITS_FOR_ITS_SURROUNDINGS = new Set([
  'ErrorUnschedulable',
  'ErrorPvcNotFound',
  'DataVolumeError',
  'ErrImagePull',
  'ImagePullBackOff',
  'Provisioning',
  'WaitingForVolumeBinding',
]);

/** Of these, what every VM waits for when it is new. */
const PASSING = new Set(['Provisioning', 'WaitingForVolumeBinding']);

export interface HealthInput {
  vm: VmView;
  vmi: VmiView | undefined;
  /** What was the matter with the last guest of it that failed: that is gone by the time of the next start. */
  lastTrouble?: string | null;
  /** Guests of the VM in a row that ended before they had run well; KubeVirt counts only those that never ran. */
  earlyEnds: number;
  /**
   * Since when its starts have been failing, in milliseconds since the epoch; else KubeVirt's time counts, which each
   * start begins anew.
   */
  failingSince?: number | null;
  /**
   * When a person let its guest go on, in milliseconds since the epoch; null, or absent, where it was not paused since
   * it was ready.
   */
  pauseEndedAt?: number | null;
  /** It has run well, or stands for one that has. */
  hasRun: boolean;
  rules: SicknessRules;
  /** Milliseconds since the epoch. */
  now: number;
}

export type SicknessRules = Pick<
  HealingRules,
  'startupFailureThreshold' | 'minFailingToStartDuration' | 'unhealthyAfter'
>;

/** What the rules of a pool's autohealing say of one VM. */
export function healthOf({
  vm,
  vmi,
  lastTrouble = null,
  failingSince = null,
  pauseEndedAt = null,
  earlyEnds,
  hasRun,
  rules,
  now,
}: HealthInput): Health {
  // Of a guest that has come up its VM says so a moment later.
  if (!isMeantToRun(vm, vmi) || (vmi?.ready === true && !vmi.deleting)) return well;
  // It may still run where nobody sees it; what its node keeps from it, new disks don't bring back.
  if (isNodeUnknown(vm, vmi)) {
    const { unknownNode } = rules.unhealthyAfter;
    if (unknownNode === 'never')
      return { ...well, spared: 'its node does not answer, and unhealthyAfter.unknownNode says never' };
    return overdue(vm.notReadySince, unknownNode, 'its node does not answer', now);
  }
  if (WAITS_FOR_ITS_SURROUNDINGS.has(vm.state))
    return PASSING.has(vm.state)
      ? well
      : { ...well, spared: `it waits (${vm.state}), and a new one would wait as well` };
  const trouble = vmi?.trouble ?? null;
  const failures = vm.startFailures + earlyEnds;
  if (failures >= rules.startupFailureThreshold)
    return {
      sick: true,
      why: words(
        failures === 1 ? 'its start has failed' : `${failures} starts in a row have failed`,
        lastTrouble ?? trouble,
      ),
    };
  const failing =
    failures > 0
      ? overdue(
          failingSince ?? vm.notReadySince,
          rules.minFailingToStartDuration ?? 'never',
          words('it fails to start', lastTrouble ?? trouble),
          now,
        )
      : well;
  if (failing.sick || !hasRun) return failing;
  const late = overdue(
    withoutWaiting(vm, vmi, pauseEndedAt),
    rules.unhealthyAfter.notReady,
    words('it is not ready', trouble),
    now,
  );
  return late.sick ? late : { sick: false, at: earlier(failing.at, late.at) };
}

const well: Health & { sick: false } = { sick: false, at: null };

const isNodeUnknown = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vmi?.nodeLost === true || vm.state === 'Unknown' || vmi?.phase === 'Unknown';

/**
 * Since when it is not ready although it has its node, image and disks, and nobody has paused it; null where it has
 * them not.
 */
function withoutWaiting(vm: VmView, vmi: VmiView | undefined, pauseEndedAt: number | null): number | null {
  if (vm.notReadySince === null || vmi === undefined || vmi.deleting || vmi.scheduledAt === null) return null;
  return Math.max(vm.notReadySince, vmi.scheduledAt, pauseEndedAt ?? 0);
}

function overdue(since: number | null, limit: string, why: string, now: number): Health {
  if (limit === 'never' || since === null) return well;
  const at = since + durationMs(limit);
  return at <= now ? { sick: true, why: `${why} for ${limit}` } : { sick: false, at };
}

const words = (what: string, trouble: string | null): string => (trouble === null ? what : `${what}: ${trouble}`);

/** The owner's wish, or a state in which KubeVirt works on it: it is not to be touched now. */
export const isLeftAlone = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vm.optedOut || vm.snapshotting || vmi?.paused === true || vmi?.migrating === true;

/**
 * True for a VM that its node, its surroundings or somebody's work on it may keep from being ready: that is no fault of
 * its own.
 */
export const isHeldUp = (vm: VmView, vmi: VmiView | undefined): boolean =>
  isNodeUnknown(vm, vmi) || WAITS_FOR_ITS_SURROUNDINGS.has(vm.state) || isLeftAlone(vm, vmi);

/**
 * How long a guest runs until its start counts as well done: it has been ready for long enough, and its liveness probe
 * has judged it.
 */
export const probationOf = ({ probationMs }: VmiView, minReadyMs: number): number =>
  Math.max(probationMs ?? 0, minReadyMs);

/** True for a guest that ended while it was still to show that it runs well. */
export function endedEarly(guest: VmiView, minReadyMs: number): boolean {
  const { phase, runningSince, endedAt } = guest;
  const probation = probationOf(guest, minReadyMs);
  return (
    phase === 'Failed' &&
    probation > 0 &&
    runningSince !== null &&
    endedAt !== null &&
    endedAt - runningSince <= probation
  );
}

/** Whether `guest` was started because a guest ended at `endedAt`, with none between that ran well. */
export const isNextAfter = (endedAt: number, guest: VmiView, minReadyMs: number): boolean =>
  guest.createdAt - endedAt <= probationOf(guest, minReadyMs);

/**
 * True for a guest that has run for long enough, and is ready: its disks hold something, and its failures are
 * forgotten.
 */
export function runsWell(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): boolean {
  const at = wellAt(vm, vmi, minReadyMs, now);
  return at !== null && at <= now;
}

/**
 * When a guest that is ready runs well by the clock alone, in milliseconds since the epoch; null where it is not ready.
 */
export function wellAt(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): number | null {
  if (!isReady(vm, vmi)) return null;
  const { runningSince, readySince, probationMs } = vmi!;
  return Math.max((readySince ?? now) + minReadyMs, (runningSince ?? now) + (probationMs ?? 0));
}
