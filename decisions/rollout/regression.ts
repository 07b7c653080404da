import type { RolloutStatus } from '../../api/pool/pool.ts';
import { shutsDownUntil } from '../disruption/grace.ts';
import { isHeldUp } from '../healing/vm-health.ts';
import { isDown } from '../health/availability.ts';
import { byNumber } from '../lib/names.ts';
import type { VmView } from '../views/vm.ts';
import { reservedNames } from './reserved-names.ts';
import type { RolloutContext } from './state/context.ts';
import { hasFailed, isGoingBack, isUnderWay, withFailures } from './state/state.ts';

/**
 * Counts VMs as failures of the rollout if they took the revision, became ready and then were not ready for
 * `progressDeadlineSeconds`: they use up the disruption budget, so the rollout would wait for them forever. Skips VMs
 * that say nothing about the revision: VMs that their node or surroundings keep down, that a user or another part of
 * drover works on, or that were down before. Skips VMs in healing too: they come back, or are given up and only then
 * count.
 */
export function withRegressions(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  if (context.spec.update.kind !== 'proactive' || !isUnderWay(state)) return state;
  const revision = isGoingBack(state) ? context.current : context.newest;
  const { vms, vmiOf, batches, busy, isHealed, now } = context.input;
  const { held } = reservedNames(batches, vms, () => false);
  const seconds = context.spec.rollout.progressDeadlineSeconds;
  const failures: RolloutStatus['failures'] = [];
  for (const vm of context.active) {
    const vmi = vmiOf(vm);
    if (!isDown(vm, vmi) || isHeldUp(vm, vmi) || isHealed(vm)) continue;
    if (held.has(vm.name) || busy.has(vm.name) || !context.isOf(vm, revision) || hasFailed(state, vm)) continue;
    const overdue = overdueAt(vm, state, seconds);
    if (overdue === null) continue;
    const failsAt = Math.max(overdue, shutsDownUntil(vmi) ?? 0);
    if (failsAt > now) context.waits.wake(failsAt);
    else failures.push({ vm: vm.name, why: why(seconds, vmi?.whyNotReady ?? null), at: context.now });
  }
  // The last failure is reported: it must not depend on the order in which a cache holds VMs.
  failures.sort((a, b) => byNumber(a.vm, b.vm));
  return failures.length === 0 ? state : withFailures(state, revision, failures);
}

/**
 * Returns when a VM that went down during the rollout will have been down for too long, in milliseconds since the
 * epoch; null if it was down before.
 */
function overdueAt(
  { notReadySince }: VmView,
  { startedAt, halted, resumedAt }: RolloutStatus,
  seconds: number,
): number | null {
  // KubeVirt's times are whole seconds.
  const beganAt = Math.floor(Date.parse(halted?.at ?? startedAt) / 1000) * 1000;
  if (notReadySince === null || notReadySince < beganAt) return null;
  const since = resumedAt === undefined ? notReadySince : Math.max(notReadySince, Date.parse(resumedAt));
  return since + seconds * 1000;
}

const why = (seconds: number, reason: string | null): string =>
  `it was updated, and has not been ready for ${seconds} s${reason === null ? '' : `: ${reason}`}`.slice(0, 1024);
