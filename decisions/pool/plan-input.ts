import type { Contents } from '../configuration/older-content.ts';
import type { KeptClaim } from '../disks/kept-claims.ts';
import type { PodBudgetView } from '../drain/pod-budget.ts';
import type { RefusedEvacuation } from '../drain/refusals.ts';
import type { HealingState } from '../healing/state.ts';
import type { VmiHistory } from '../healing/vmi-history.ts';
import type { MembersReport } from '../membership/change.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { DeferredVm } from '../rollout/state/deferred.ts';
import type { KeptRevision } from '../template/kept-revisions.ts';
import type { PoolTemplate } from '../template/template.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { KubeVirtPlugs } from '../vm-update/disruption.ts';

/** What a worker's cache knows of a pool, and of what its plan depends on. */
export interface PoolSnapshot extends Pick<
  PlanInput,
  'pool' | 'vms' | 'uncontrolled' | 'isVmNameTaken' | 'vmiOf' | 'zoneOf'
> {
  /** VMIs of a VM that ran and then failed, oldest first. */
  failedVmisOf: (vm: VmView) => readonly VmiView[];
  /** Why the VM's last failed VMI failed, in KubeVirt's words; null if unknown. */
  lastFailureOf: (vm: VmView) => string | null;
  /** What became of all VMIs of the VM; null if nothing observed them. */
  vmiHistoryOf: (vm: VmView) => VmiHistory | null;
  /** The labels of a node; undefined or absent if they are unknown. */
  nodeLabelsOf?: (node: string) => Readonly<Record<string, string>> | undefined;
  /** The kept revisions of the pool's template. */
  revisions: readonly KeptRevision[];
  /** Claims of the pool that are marked as kept. */
  keptClaims: readonly KeptClaim[];
  /** The PodDisruptionBudget with the name that the pool gives its own, whoever owns it; absent if there is none. */
  podBudget?: PodBudgetView | undefined;
  /** What is known of Secrets and ConfigMaps; null if nothing is yet, or the pool doesn't ask for it. */
  contents: Contents | null;
  /** How KubeVirt applies changes to running VMs. */
  strategy: 'Stage' | 'LiveUpdate';
  /** What it plugs into them, and how; absent if that is unknown, and all is assumed. */
  plugs?: KubeVirtPlugs;
  /**
   * Template of a revision with what its instance type and preference stand for in their place; undefined if it has
   * none, or KubeVirt has not told. Absent if nobody has asked.
   */
  expandedOf?: (revision: string) => PoolTemplate | undefined;
}

/** All that a pool is planned from: beside what the cache knows, what its workflow does. */
export interface PoolPlanInput extends PlanInput, PoolSnapshot {
  /**
   * Writes of the newest status that the pool's workflow knows of: state of the workflow gives way to a newer status;
   * absent if it knows of none.
   */
  writes?: number;
  /** VMs that batches have given back for reasons of their own; absent if there are none. */
  deferred?: readonly DeferredVm[];
  /** State of healing; null or absent if only the pool's status can tell. */
  healing?: HealingState | null;
  /** What has become of the request that stands on the pool, if it is about its members; absent until that is known. */
  membership?: MembersReport;
  /** Others write the status of the pool, too; absent if not. */
  isContended?: true;
  /** No batch begins earlier; milliseconds since the epoch. */
  batchesNotBefore: number;
  /** What was refused of evacuations; absent if nothing was. */
  refusals?: readonly RefusedEvacuation[];
}
