import { API_VERSION, POOL_LABEL } from '../../api/names.ts';
import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import {
  isActive,
  isMeantToRun,
  liveVmi,
  maxUnavailableOf,
  runsByItself,
  type VmiOf,
} from '../disruption-budget/availability.ts';
import { canonical } from '../lib/canonical-json.ts';
import { isStandby } from '../standby/standby.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, type VmView } from '../views/vm.ts';

/** Kubernetes' PodDisruptionBudget, as drover writes it. */
export interface PodDisruptionBudget extends KubeObject {
  spec?: PodBudgetSpec;
}

export interface PodBudgetSpec {
  minAvailable: number;
  selector: { matchLabels: Record<string, string> };
  unhealthyPodEvictionPolicy: 'AlwaysAllow';
}

/** What drover keeps of a PodDisruptionBudget of a pool. */
export interface PodBudgetView {
  namespace: string;
  name: string;
  /** Of the pool that controls it. */
  pool: string;
  poolUid: string;
  /** Canonical JSON of its spec. */
  spec: string;
}

/** Returns null for a PodDisruptionBudget that no pool of drover's controls. */
export function podBudgetView(budget: Stored<PodDisruptionBudget>): PodBudgetView | null {
  const owner = controllerOf(budget);
  if (owner?.kind !== 'VirtualMachinePool' || owner.apiVersion !== API_VERSION) return null;
  const { namespace, name } = budget.metadata;
  return { namespace: namespace!, name, pool: owner.name, poolUid: owner.uid, spec: canonical(budget.spec ?? null) };
}

export const podBudgetName = (pool: string): string => `drover-${pool}`;

/**
 * The spec for this number of pods that must stay up. Only an absolute `minAvailable` works for the pods of VMs: Kubernetes
 * can't count how many there should be. A pod that is not ready may go in any case.
 */
export const podBudgetSpec = (pool: string, minAvailable: number): PodBudgetSpec => ({
  minAvailable,
  selector: { matchLabels: { [POOL_LABEL]: pool } },
  unhealthyPodEvictionPolicy: 'AlwaysAllow',
});

export interface PodBudgetInput {
  pool: StoredPool;
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** PodDisruptionBudgets that the pool controls. */
  podBudgets: readonly PodBudgetView[];
}

/**
 * Returns how many pods must stay up, for the PodDisruptionBudget of a pool with `drain` whose evictions KubeVirt lets
 * pass: null if the pool is to have none.
 */
export function minAvailableOf({ pool, vms, vmiOf }: Omit<PodBudgetInput, 'podBudgets'>): number | null {
  if (pool.spec.drain === undefined || pool.metadata.deletionTimestamp !== undefined) return null;
  if (poolTemplate(pool.spec).spec.template.spec?.evictionStrategy !== 'None') return null;
  const active = vms.filter(isRegular).filter(isActive);
  const missing = runsByItself(pool.spec.template) ? Math.max(pool.spec.replicas - active.length, 0) : 0;
  const wanted = active.filter((vm) => isMeantToRun(vm, vmiOf(vm))).length + missing;
  // The pods of paused standby VMs have the pool's label too, and Kubernetes counts them as healthy.
  const standby = vms.filter((vm) => isStandby(vm) && liveVmi(vmiOf(vm))?.phase === 'Running').length;
  return Math.max(wanted - maxUnavailableOf(pool), 0) + standby;
}

/** The step that brings the pool's PodDisruptionBudget to what it should be; none if it is. */
export function podBudgetSteps(
  input: PodBudgetInput,
): { kind: 'updatePodDisruptionBudget'; minAvailable: number | null; reason: string }[] {
  const { pool, podBudgets } = input;
  const minAvailable = minAvailableOf(input);
  const { name } = pool.metadata;
  const has = podBudgets.find((budget) => budget.name === podBudgetName(name));
  if (minAvailable === null)
    return has === undefined
      ? []
      : [{ kind: 'updatePodDisruptionBudget', minAvailable, reason: 'remove the PodDisruptionBudget' }];
  if (has?.spec === canonical(podBudgetSpec(name, minAvailable))) return [];
  return [
    { kind: 'updatePodDisruptionBudget', minAvailable, reason: `have ${minAvailable} pods stay up at evictions` },
  ];
}
