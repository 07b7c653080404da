import { maxVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmInProgress } from '../../decisions/power/outcome.ts';
import { Changes, ofMembers, type Changed } from '../cache/changes.ts';
import { disrupt, type WaveOptions } from '../disruption/wave.ts';
import type { RunChanges } from './request.ts';
import type { RunMethod, RunPlan } from './run-method.ts';
import type { PowerVm } from './vm-power.ts';

interface CarryOutOptions extends Pick<
  WaveOptions<PowerVm, VmInProgress>,
  'cache' | 'asked' | 'concurrency' | 'idleMs' | 'idleSince' | 'reportMs'
> {
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
  /** Of the operation as it was read. */
  operationVersion: RunChanges['operationVersion'];
  isRelevant: (changed: Changed) => boolean;
  /** Calls back when something else has changed. */
  subscribe?: (onChange: () => void) => () => void;
}

interface CarriedOut<Plan> {
  changes: RunChanges;
  /** What the last look has found. */
  plan: Plan;
  /** Since when nothing has been in progress, in milliseconds since the epoch; null if something is. */
  idleSince: number | null;
}

/** Acts on VMs for a run, and follows them, until there is something to tell. */
export async function carryOut<Plan extends RunPlan>(
  method: RunMethod<Plan>,
  { stopping, operationVersion, isRelevant, subscribe, ...options }: CarryOutOptions,
): Promise<CarriedOut<Plan>> {
  const { cache } = options;
  const earlier = method.begun;
  const known = new Set(earlier.map(({ held }) => held.name));
  const isNews = (changed: Changed): boolean => {
    method.changed(`${changed.namespace}/${changed.name}`);
    return isRelevant(changed);
  };
  const watched = new Changes(cache, stopping, ofMembers(isNews));
  const unsubscribe = subscribe?.(() => watched.poke());
  try {
    const halfDone = method.leftOver((key) => known.has(key));
    const how = { ...options, begun: earlier, halfDone, changes: watched, keyOf: (key: string) => key };
    const { outcomes, begun, isOver, idleSince } = await disrupt(method, how);
    const { plan, digest } = method.found;
    const changes: RunChanges = {
      settled: outcomes,
      inProgress: begun.map(({ vm, since }) => ({ vm, since })),
      isOver,
      digest,
      minVersions: maxVersions(method.minVersions, cache.versionsOf('pools', 'vms', 'vmis')),
      operationVersion,
    };
    return { changes, plan, idleSince };
  } finally {
    watched.stop();
    unsubscribe?.();
  }
}
