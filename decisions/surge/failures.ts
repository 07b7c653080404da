import type { RolloutStatus } from '../../api/pool/pool.ts';
import { shutsDownUntil } from '../disruption/grace.ts';
import { isHeldUp } from '../healing/vm-health.ts';
import { isDown } from '../health/availability.ts';
import { byNumber } from '../lib/names.ts';
import type { RolloutContext } from '../rollout/state/context.ts';
import { goesOnSince, hasFailed, isGoingBack, isUnderWay, withFailures } from '../rollout/state/state.ts';
import type { SurgeVm } from '../views/vm.ts';

/**
 * Counts extra VMs as failures of the revision that they were made of if they have not been ready for
 * `progressDeadlineSeconds`. Skips VMs that say nothing about it: their node or surroundings keep them down, or users
 * work on them.
 */
export function withSurgeFailures(context: RolloutContext, state: RolloutStatus): RolloutStatus {
  if (context.spec.update.kind !== 'proactive' || !isUnderWay(state)) return state;
  const { vmiOf, busy, now } = context.input;
  const revision = isGoingBack(state) ? context.current : context.newest;
  const seconds = context.spec.rollout.progressDeadlineSeconds;
  const failures: RolloutStatus['failures'] = [];
  for (const vm of context.surge) {
    const vmi = vmiOf(vm);
    if (vm.revision !== revision || busy.has(vm.name) || hasFailed(state, vm)) continue;
    if (!isDown(vm, vmi) || isHeldUp(vm, vmi)) continue;
    const failsAt = Math.max(downSince(vm, state) + seconds * 1000, shutsDownUntil(vmi) ?? 0);
    const reason = vmi?.whyNotReady ?? null;
    const why = `it is extra, and has not been ready for ${seconds} s${reason === null ? '' : `: ${reason}`}`;
    if (failsAt > now) context.waits.wake(failsAt);
    else failures.push({ vm: vm.name, why: why.slice(0, 1024), at: context.now });
  }
  // The last failure is reported: it must not depend on the order in which a cache holds VMs.
  failures.sort((a, b) => byNumber(a.vm, b.vm));
  return failures.length === 0 ? state : withFailures(state, revision, failures);
}

/** Since when an extra VM has kept the rollout waiting, in milliseconds since the epoch. */
export const downSince = ({ createdAt, notReadySince }: SurgeVm, state: RolloutStatus): number =>
  Math.max(createdAt, notReadySince ?? 0, goesOnSince(state));
