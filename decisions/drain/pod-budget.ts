import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { maxUnavailableOf } from '../disruption-budget/unavailability.ts';
import { isActive, isMeantToRun, liveVmi, runsByItself } from '../health/availability.ts';
import { canonical } from '../lib/canonical-json.ts';
import { asObject, field, isObject, parsedObject } from '../lib/json.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { PoolStep } from '../owners/steps.ts';
import { poolTemplate } from '../template/template.ts';
import { isRegular, isStandby } from '../views/vm.ts';

/** Kubernetes' PodDisruptionBudget, as drover writes it. */
export interface PodDisruptionBudget extends KubeObject {
  spec?: PodBudgetSpec;
}

interface PodBudgetSpec {
  minAvailable: number;
  selector: { matchLabels: Record<string, string> };
  unhealthyPodEvictionPolicy: 'AlwaysAllow';
}

/** What drover keeps of a PodDisruptionBudget, whatever its owner. */
export interface PodBudgetView {
  namespace: string;
  name: string;
  /** The pool whose PodDisruptionBudget would have this name; null if no pool's would. */
  pool: string | null;
  /** UID of the pool of drover's that controls it; null if none does. */
  poolUid: string | null;
  /** Whether it has the label that the pool gives its own. */
  isLabelled: boolean;
  /** Canonical JSON of its spec. */
  spec: string;
}

const PREFIX = 'drover-';

export const podBudgetName = (pool: string): string => `${PREFIX}${pool}`;

/** KubeVirt's label of a pod, by which it protects single VMIs: it selects no others. */
const OF_ONE_VMI = 'kubevirt.io/created-by';

/** Returns null for a PodDisruptionBudget of KubeVirt's, of which there may be thousands. */
export function podBudgetView(budget: Stored<PodDisruptionBudget>): PodBudgetView | null {
  const { namespace, name, labels } = budget.metadata;
  if (field(budget.spec, 'selector', 'matchLabels', OF_ONE_VMI) !== undefined) return null;
  const pool = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
  const owner = controllerOf(budget);
  const isOfPool = owner !== undefined && isOwnerReferenceTo(owner, VirtualMachinePools);
  return {
    namespace: namespace!,
    name,
    pool,
    poolUid: isOfPool ? owner.uid : null,
    isLabelled: owner === undefined && labels?.[POOL_LABEL] === pool,
    spec: canonical(budget.spec ?? null),
  };
}

/**
 * The spec for this number of pods that must stay up. Only an absolute `minAvailable` works for the pods of VMs:
 * Kubernetes can't count how many there should be. A pod that is not ready may go in any case.
 */
export const podBudgetSpec = (pool: string, minAvailable: number): PodBudgetSpec => ({
  minAvailable,
  selector: { matchLabels: { [POOL_LABEL]: pool } },
  unhealthyPodEvictionPolicy: 'AlwaysAllow',
});

export interface PodBudgetInput extends Pick<PlanInput, 'pool' | 'vms' | 'vmiOf'> {
  /** The PodDisruptionBudget with the name that the pool gives its own; absent if there is none. */
  podBudget?: PodBudgetView | undefined;
  /** PodDisruptionBudgets of the namespace with names that no pool gives its own; absent if none are known. */
  otherPodBudgets?: readonly PodBudgetView[];
}

/**
 * Returns how many pods must stay up, for the PodDisruptionBudget of a pool with `drain` whose evictions KubeVirt lets
 * pass: null if the pool is to have none.
 */
export function minAvailableOf({ pool, vms, vmiOf }: Omit<PodBudgetInput, 'podBudget'>): number | null {
  if (pool.spec.drain === undefined || pool.metadata.deletionTimestamp !== undefined) return null;
  if (poolTemplate(pool.spec).spec.template.spec?.evictionStrategy !== 'None') return null;
  const active = vms.filter(isRegular).filter(isActive);
  const missing = runsByItself(pool.spec.template) ? Math.max(pool.spec.replicas - active.length, 0) : 0;
  const wanted = active.filter((vm) => isMeantToRun(vm, vmiOf(vm))).length + missing;
  // The pods of standby VMs have the pool's label too. Kubernetes counts ready pods, and the pod of a paused VM is not
  // ready.
  const standby = vms.filter((vm) => isStandby(vm) && liveVmi(vmiOf(vm))?.ready === true).length;
  return Math.max(wanted - maxUnavailableOf(pool), 0) + standby;
}

/** Reports whether a PodDisruptionBudget that is not the pool's own has the name: it is left alone. */
const isNameTaken = ({ pool, podBudget }: PodBudgetInput): boolean =>
  podBudget !== undefined && podBudget.poolUid !== pool.metadata.uid;

/** Whether it was the pool's own until that was deleted with `--cascade=orphan`: it would limit evictions for ever. */
const isOrphaned = ({ pool, podBudget }: PodBudgetInput): boolean =>
  pool.metadata.deletionTimestamp !== undefined && podBudget?.poolUid === null && podBudget.isLabelled;

/** The step that brings the pool's PodDisruptionBudget to what it should be; none if it is, or can't be. */
export function podBudgetSteps(input: PodBudgetInput): Extract<PoolStep, { kind: 'updatePodDisruptionBudget' }>[] {
  const minAvailable = minAvailableOf(input);
  const wanted = minAvailable === null ? undefined : canonical(podBudgetSpec(input.pool.metadata.name, minAvailable));
  const isTaken = isNameTaken(input) && !isOrphaned(input);
  if (isTaken || input.podBudget?.spec === wanted) return [];
  const reason =
    minAvailable === null ? 'remove the PodDisruptionBudget' : `have ${minAvailable} pods stay up at evictions`;
  return [{ kind: 'updatePodDisruptionBudget', minAvailable, reason }];
}

/** `EvictionsNotLimited`: the pool's PodDisruptionBudget is missing, or of no use. There only while so. */
export function podBudgetCondition(input: PodBudgetInput): UntimedCondition[] {
  if (minAvailableOf(input) === null) return [];
  if (!isNameTaken(input)) return besideOthers(input);
  const message =
    `PodDisruptionBudget ${input.podBudget!.name} does not belong to the pool, and stays as it is: ` +
    'evictions of its VMs are not limited by maxUnavailable';
  return [{ type: 'EvictionsNotLimited', status: 'True', reason: 'NameTaken', message }];
}

/** Kubernetes refuses all evictions of a pod that two PodDisruptionBudgets select, with an error of the server's. */
function besideOthers({ pool, otherPodBudgets = [] }: PodBudgetInput): UntimedCondition[] {
  const labels = asObject(field(pool.spec.template, 'spec', 'template', 'metadata', 'labels')) as Record<
    string,
    string
  >;
  const ofPods = { ...labels, [POOL_LABEL]: pool.metadata.name, 'kubevirt.io': 'virt-launcher' };
  const selecting = otherPodBudgets.filter(({ spec }) => {
    const selector = field(parsedObject(spec), 'selector');
    return isObject(selector) && matchesLabels(selector, ofPods);
  });
  if (selecting.length === 0) return [];
  const message =
    `PodDisruptionBudget ${formatNames(selecting.map(({ name }) => name))} selects pods of its VMs, too: ` +
    'Kubernetes evicts no pod that more than one selects';
  return [{ type: 'EvictionsNotLimited', status: 'True', reason: 'AnotherSelects', message }];
}
