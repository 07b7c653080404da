import { namespacedName, RestartBudget } from '../../decisions/disruption-budget/restart-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { FailedVm, VmiInProgress } from '../../decisions/machine-types/limit.ts';
import { transitionNeed } from '../../decisions/machine-types/vm-need.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { snapshotOfVms, VmPower, type VmPowerOptions } from '../power/vm-power.ts';
import type { TransitionContext, TransitionRequest } from './context.ts';

export interface BeginTransitionRestartsRequest extends TransitionRequest {
  /** The VMs of `inProgress` to restart now, by `namespace/name`. */
  vms: string[];
  inProgress: VmiInProgress[];
  failed: FailedVm[];
  maxRestarts: number;
}

export interface BeginRestartsOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
  concurrency: number;
}

export interface BegunRestarts {
  /** Outcomes of the VMs that are not waited for. */
  outcomes: PowerOutcome[];
  minVersions: ResourceVersions;
}

/**
 * Restarts these VMs, each only if its VMI is still the chosen one and the budgets allow it. Safe to run again at any
 * point.
 */
export async function beginRestarts(
  options: BeginRestartsOptions,
  context: TransitionContext,
  request: BeginTransitionRestartsRequest,
): Promise<BegunRestarts> {
  const { cache, concurrency } = options;
  const { vms, inProgress, transition, maxRestarts } = request;
  const { requestedBy, reason } = transition;
  const acting = new Set(inProgress.map(({ vm }) => vm).filter((vm) => !vms.includes(vm)));
  const note = `Restarted for its new machine type, requested by ${requestedBy}${reason === null ? '' : `: ${reason}`}`;
  context.needs.follow(request);
  const whyNotAnyMore: VmPowerOptions['whyNotAnyMore'] = (vm, snapshot) => {
    if (transitionNeed(context.rules, vm, snapshot).need !== 'restart') return 'its machine type has changed since';
    const seen = snapshotOfVms(cache);
    const room = new RestartBudget({
      counted: context.needs.tally.limited,
      snapshot: {
        ...seen,
        vmiOf: (one) => (one === vm ? snapshot.vmiOf(vm) : seen.vmiOf(one)),
        poolOf: () => undefined,
      },
      inProgress: acting,
      maxUnavailable: maxRestarts,
      now: Date.now(),
    });
    const why = room.whyNot(vm);
    if (why === null) acting.add(namespacedName(vm));
    return why;
  };
  const power = new VmPower({ action: 'Restart', by: request.ref.id, ...options, note, whyNotAnyMore });
  const held = new Map(inProgress.map((one) => [one.vm, one]));
  const take = async (name: string): Promise<PowerOutcome | null> => {
    const begun = held.get(name)!;
    const outcome = await power.take({ name, target: begun.vmi, taken: begun }, begun);
    return outcome instanceof NoPlace ? { vm: name, end: 'Deferred', why: outcome.whyNot } : outcome;
  };
  const outcomes = await forEachConcurrently({ take }, vms, concurrency);
  return { outcomes, minVersions: power.minVersions };
}
