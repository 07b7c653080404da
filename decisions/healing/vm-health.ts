import { durationMs } from '../../api/lib/duration.ts';
import type { HealingRules } from '../../api/rules/pool-defaults.ts';
import { isMeantToRun, isReady } from '../health/availability.ts';
import { isNodeUnknown, waitsForItsSurroundings } from '../health/excused.ts';
import { whyOutage, type NodeCounts } from '../health/node-outage.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

/**
 * Whether a VM is to be replaced. `at`: when time alone may make it unhealthy, in milliseconds since the epoch.
 * `exempt`: why a VM that a user may think unhealthy is not.
 */
export type Health = { unhealthy: true; message: string } | { unhealthy: false; at: number | null; exempt?: string };

/** True for a VM with a DataVolume that has failed for good, or whose importer has failed and may be started again. */
export const hasFailedDisk = ({ state }: Pick<VmView, 'state'>): boolean => state === 'DataVolumeError';

/** A VM whose DataVolumes fail for this long is replaced, unless its pool says otherwise: an importer may recover. */
const FAILED_DISK_AFTER = '5m';

/** When to look again whether most nodes answer: another node does not wake the pool. */
const LOOK_AGAIN_MS = 30_000;

/** The states of a VM that waits for its surroundings that every new VM goes through. */
const PASSING = new Set(['Provisioning', 'WaitingForVolumeBinding']);

/** Says why a VM is not replaced that was found unhealthy before. */
export const whyKept = ({ exempt = 'it is no longer unhealthy' }: Health & { unhealthy: false }): string => exempt;

interface HealthInput {
  vm: VmView;
  vmi: VmiView | undefined;
  /** What was wrong with the VM's last failed VMI: the new VMI no longer says so once the next start begins. */
  lastFailure?: string | null;
  /** How many VMIs of the VM in a row ended before they ran well; KubeVirt counts only VMIs that never ran. */
  earlyExits: number;
  /**
   * Since when its starts have been failing, in milliseconds since the epoch. If absent, the time of KubeVirt's Ready
   * condition counts, which each start resets.
   */
  failingSince?: number | null;
  /**
   * Since when it is no longer left alone, in milliseconds since the epoch: a user had paused its VMI, it moved, or
   * something else was done to it. Null or absent if it was not left alone since it was last ready.
   */
  pauseEndedAt?: number | null;
  /** The VM has run well, or replaces a VM that has. */
  hasRun: boolean;
  /** The VM itself has run well, so that its disks may hold data; as `hasRun` if absent. */
  hasRunItself?: boolean;
  nodeCounts: () => NodeCounts;
  rules: HealthRules;
  /** Milliseconds since the epoch. */
  now: number;
}

type HealthRules = Pick<HealingRules, 'startupFailureThreshold' | 'minFailingToStartDuration' | 'unhealthyAfter'>;

/** Judges one VM by the rules of its pool's autohealing. */
export function healthOf(input: HealthInput): Health {
  const { vm, vmi, pauseEndedAt = null, hasRun, rules, now } = input;
  // A VM reports its VMI ready a moment later than the VMI does.
  if (!isMeantToRun(vm, vmi) || (vmi?.ready === true && !vmi.deleting)) return well;
  // The VMI may still run unseen, and new disks don't bring back a lost node.
  if (isNodeUnknown(vm, vmi)) {
    const { unknownNode } = rules.unhealthyAfter;
    if (unknownNode === 'never')
      return { ...well, exempt: 'its node does not answer, and unhealthyAfter.unknownNode is never' };
    const outage = whyOutage(input.nodeCounts());
    if (outage !== null) return { unhealthy: false, at: now + LOOK_AGAIN_MS, exempt: outage };
    const since = vm.notReadySince === null ? null : Math.max(vm.notReadySince, vmi?.nodeSince ?? 0);
    return overdue(since, unknownNode, 'its node does not answer', now);
  }
  if (hasFailedDisk(vm)) return withFailedDisk(input);
  if (waitsForItsSurroundings(vm))
    return PASSING.has(vm.state)
      ? well
      : { ...well, exempt: `it waits (${vm.state}), and a new one would wait as well` };
  const failing = startsOf(input);
  if (failing.unhealthy || !hasRun) return failing;
  const late = overdue(
    withoutWaiting(vm, vmi, pauseEndedAt),
    rules.unhealthyAfter.notReady,
    withReason('it is not ready', vmi?.whyNotReady ?? null),
    now,
  );
  return late.unhealthy ? late : { unhealthy: false, at: earlier(failing.at, late.at) };
}

/**
 * A DataVolume that has failed stays so even if its source is back. A VM that has never run gets new disks; those of
 * another may hold what a user wants.
 */
function withFailedDisk({ vm, failingSince, hasRun, hasRunItself = hasRun, rules, now }: HealthInput): Health {
  if (!hasRunItself)
    return overdue(
      failingSince ?? vm.notReadySince,
      rules.minFailingToStartDuration ?? FAILED_DISK_AFTER,
      'a DataVolume of it has failed',
      now,
    );
  const exempt =
    'a DataVolume of it has failed, and its disks may hold data: delete the failed DataVolume (kubectl get dv), and KubeVirt makes it again';
  return { ...well, exempt };
}

/** Judges how the VM's last starts went. */
function startsOf({ vm, vmi, lastFailure, failingSince, earlyExits, rules, now }: HealthInput): Health {
  const failures = vm.startFailures + earlyExits;
  if (failures === 0) return well;
  const reason = lastFailure ?? vmi?.whyNotReady ?? null;
  if (failures >= rules.startupFailureThreshold) {
    const what = failures === 1 ? 'its start has failed' : `${failures} starts in a row have failed`;
    return { unhealthy: true, message: withReason(what, reason) };
  }
  const limit = rules.minFailingToStartDuration ?? 'never';
  return overdue(failingSince ?? vm.notReadySince, limit, withReason('it fails to start', reason), now);
}

const well: Health & { unhealthy: false } = { unhealthy: false, at: null };

/**
 * Since when the VM is not ready although it has its node, which answers, its image and disks, and is not paused; null
 * if it lacks any of them.
 */
function withoutWaiting(vm: VmView, vmi: VmiView | undefined, pauseEndedAt: number | null): number | null {
  if (vm.notReadySince === null || vmi === undefined || vmi.deleting || vmi.scheduledAt === null) return null;
  return Math.max(vm.notReadySince, vmi.scheduledAt, vmi.nodeSince ?? 0, pauseEndedAt ?? 0);
}

function overdue(since: number | null, limit: string, message: string, now: number): Health {
  if (limit === 'never' || since === null) return well;
  const at = since + durationMs(limit);
  return at <= now ? { unhealthy: true, message: `${message} for ${limit}` } : { unhealthy: false, at };
}

const withReason = (what: string, reason: string | null): string => (reason === null ? what : `${what}: ${reason}`);

/**
 * How long a VMI must run until its start counts as successful: it has been ready for minReadyMs, and its liveness
 * probe has judged it.
 */
export const probationOf = ({ probationMs }: VmiView, minReadyMs: number): number =>
  Math.max(probationMs ?? 0, minReadyMs);

/** True for a VMI that failed within its probation. */
export function endedEarly(vmi: VmiView, minReadyMs: number): boolean {
  const { phase, runningSince, endedAt } = vmi;
  const probation = probationOf(vmi, minReadyMs);
  return (
    phase === 'Failed' &&
    probation > 0 &&
    runningSince !== null &&
    endedAt !== null &&
    endedAt - runningSince <= probation
  );
}

/** Whether `vmi` was started because the one before ended at `endedAt`, with none in between that ran well. */
export const isNextAfter = (endedAt: number, vmi: VmiView, minReadyMs: number): boolean =>
  vmi.createdAt - endedAt <= probationOf(vmi, minReadyMs);

/** True for a VMI that is ready and past its probation: its disks hold data, and its failures are forgotten. */
export function isAvailable(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): boolean {
  const at = availableAt(vm, vmi, minReadyMs, now);
  return at !== null && at <= now;
}

/**
 * When a ready VMI counts as running well, by time alone, in milliseconds since the epoch; null if it is not ready.
 */
export function availableAt(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): number | null {
  if (!isReady(vm, vmi)) return null;
  const { runningSince, readySince, probationMs } = vmi!;
  return Math.max((readySince ?? now) + minReadyMs, (runningSince ?? now) + (probationMs ?? 0));
}
