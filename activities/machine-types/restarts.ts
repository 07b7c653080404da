import type { FailedVm, VmiInProgress } from '../../decisions/machine-types/limit.ts';
import { transitionNeed } from '../../decisions/machine-types/vm-need.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import type { BegunPower } from '../power/power.ts';
import { VmPower } from '../power/vm-power.ts';
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

/**
 * Restarts these VMs, each only if its VMI is still the chosen one and the budgets allow it. Safe to run again at any
 * point.
 */
export async function beginRestarts(
  options: BeginRestartsOptions,
  context: TransitionContext,
  request: BeginTransitionRestartsRequest,
): Promise<BegunPower> {
  const { client, cache, places, concurrency } = options;
  const { vms, inProgress, transition, maxRestarts } = request;
  const { requestedBy, reason } = transition;
  const chosen = new Map(inProgress.map(({ vm, vmi }) => [vm, vmi]));
  const acting = new Set(vms);
  const others = [...chosen.keys()].filter((key) => !acting.has(key));
  const note = `Restarted for its new machine type, requested by ${requestedBy}${reason === null ? '' : `: ${reason}`}`;
  context.needs.follow(request);
  const power = new VmPower({
    action: 'Restart',
    client,
    cache,
    places,
    chosen,
    counted: context.needs.tally.limited,
    atOnce: maxRestarts,
    others,
    note,
    whyNotAnyMore: (vm, snapshot) =>
      transitionNeed(context.rules, vm, snapshot).need === 'restart' ? null : 'its machine type has changed since',
  });
  const outcomes = await forEachConcurrently(power, vms, concurrency);
  return { outcomes, minVersions: power.minVersions };
}
