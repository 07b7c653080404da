import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { shutsDownUntil } from '../../disruption/grace.ts';
import { isDown } from '../../health/availability.ts';
import { isExcused } from '../../health/excused.ts';
import { byNumber } from '../../lib/names.ts';
import type { VmView } from '../../views/vm.ts';
import type { RolloutContext } from './context.ts';
import { failedIn, isGoingBack, isUnderWay, withFailures } from './state.ts';

interface Judged<Vm extends VmView> {
  vms: readonly Vm[];
  /**
   * Since when the VM has kept the rollout of this revision waiting, in milliseconds since the epoch; null if it says
   * nothing about the revision.
   */
  downSince: (vm: Vm, revision: string) => number | null;
  /** The beginning of the sentence that says why a VM has failed. */
  what: string;
}

/**
 * Counts VMs as failures of the rollout if they have not been ready for `progressDeadlineSeconds`. Skips VMs that their
 * node or surroundings keep down, or that a user or another part of drover works on.
 */
export function withOverdue<Vm extends VmView>(
  context: RolloutContext,
  state: RolloutStatus,
  { vms, downSince, what }: Judged<Vm>,
): RolloutStatus {
  if (context.spec.update.kind !== 'proactive' || !isUnderWay(state)) return state;
  const { vmiOf, busy, now } = context.input;
  const revision = isGoingBack(state) ? context.current : context.newest;
  const seconds = context.spec.rollout.progressDeadlineSeconds;
  const hasFailed = failedIn(state);
  const failures: RolloutStatus['failures'] = [];
  for (const vm of vms) {
    const vmi = vmiOf(vm);
    if (!isDown(vm, vmi) || isExcused(vm, vmi) || busy.has(vm.name) || hasFailed(vm)) continue;
    const since = downSince(vm, revision);
    if (since === null) continue;
    const failsAt = Math.max(since + seconds * 1000, shutsDownUntil(vmi) ?? 0);
    const reason = vmi?.whyNotReady == null ? '' : `: ${vmi.whyNotReady}`;
    const message = `${what}, and has not been ready for ${seconds} s${reason}`.slice(0, 1024);
    if (failsAt > now) context.waits.requeue(failsAt);
    else failures.push({ vm: vm.name, message, at: context.now });
  }
  // The last failure is reported: it must not depend on the order in which a cache holds VMs.
  failures.sort((a, b) => byNumber(a.vm, b.vm));
  return failures.length === 0 ? state : withFailures(state, revision, failures);
}
