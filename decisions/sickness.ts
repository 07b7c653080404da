import { durationMs } from '../api/duration.ts';
import type { HealingRules } from '../api/pool-defaults.ts';
import { isMeantToRun, isReady } from './availability.ts';
import type { VmView } from './vm.ts';
import type { VmiView } from './vmi.ts';

/** Whether a VM is to be replaced. `at`: when the clock alone may make it so, in milliseconds since the epoch. */
export type Health = { sick: true; why: string } | { sick: false; at: number | null };

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

/**
 * The rules of a pool's autohealing for one VM. `earlyEnds`: guests of it in a row that ended before their liveness probe had
 * let them pass; KubeVirt counts only those that never ran.
 */
export function healthOf(vm: VmView, vmi: VmiView | undefined, earlyEnds: number, rules: HealingRules, now: number): Health {
  if (!isMeantToRun(vm, vmi) || isReady(vm, vmi) || WAITS_FOR_ITS_SURROUNDINGS.has(vm.state)) return well;
  if (isNodeUnknown(vm, vmi)) return overdue(vm, rules.unhealthyAfter.unknownNode, 'its node does not answer', now);
  const failures = vm.startFailures + earlyEnds;
  if (failures >= rules.startupFailureThreshold) return { sick: true, why: words(`${failures} starts in a row have failed`, vmi) };
  const failing = failures > 0 ? overdue(vm, rules.minFailingToStartDuration ?? 'never', words('it fails to start', vmi), now) : well;
  if (failing.sick || !vm.hasRun) return failing;
  const notReady = overdue(vm, rules.unhealthyAfter.notReady, words('it is not ready', vmi), now);
  return notReady.sick ? notReady : { sick: false, at: earlier(failing.at, notReady.at) };
}

const well: Health & { sick: false } = { sick: false, at: null };

/** KubeVirt can't say what a guest does on a node that is gone: it may still run there. */
const isNodeUnknown = (vm: VmView, vmi: VmiView | undefined): boolean => vm.state === 'Unknown' || vmi?.phase === 'Unknown';

function overdue(vm: VmView, limit: string, why: string, now: number): Health {
  if (limit === 'never' || vm.notReadySince === null) return well;
  const at = vm.notReadySince + durationMs(limit);
  return at <= now ? { sick: true, why: `${why} for ${limit}` } : { sick: false, at };
}

const words = (what: string, vmi: VmiView | undefined): string => (vmi?.trouble == null ? what : `${what}: ${vmi.trouble}`);

export const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** True for a guest that ended while its liveness probe was still to judge its start. */
export const endedEarly = ({ phase, runningSince, endedAt, probationMs }: VmiView): boolean =>
  phase === 'Failed' && probationMs !== null && runningSince !== null && endedAt !== null && endedAt - runningSince <= probationMs;

/** True for a guest that has run for long enough, and is ready: its disks hold something, and its failures are forgotten. */
export function runsWell(vm: VmView, vmi: VmiView | undefined, minReadyMs: number, now: number): boolean {
  if (!isReady(vm, vmi)) return false;
  const { runningSince, readySince, probationMs } = vmi!;
  return (readySince ?? now) + minReadyMs <= now && (runningSince ?? now) + (probationMs ?? 0) <= now;
}
