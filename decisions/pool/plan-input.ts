import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { KeptClaim } from '../disks/kept-claims.ts';
import type { VmiOf } from '../disruption-budget/availability.ts';
import type { Witness } from '../healing/proof.ts';
import type { HealingState } from '../healing/state.ts';
import type { KeptRevision } from '../revisions/retained.ts';
import type { Batch } from '../rollout/batch.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { RefusedVms } from './refused-vms.ts';
import type { Failure } from './status.ts';

export interface PoolPlanInput {
  pool: StoredPool;
  /** All VMs that the pool owns, those that are going included. */
  vms: readonly VmView[];
  /** A VM of this name exists in the pool's namespace and is not the pool's. */
  isHeldByOther: (name: string) => boolean;
  /** Names that activities are working on in this moment. */
  underWay: { creating: readonly string[]; deleting: readonly string[] };
  vmiOf: VmiOf;
  /** Guests of a VM that ran and then failed, oldest first; absent where nobody has seen any. */
  failedVmisOf?: (vm: VmView) => readonly VmiView[];
  /**
   * In KubeVirt's words, what was the matter with the last guest of a VM that failed; null, or absent, where nobody
   * knows.
   */
  lastTroubleOf?: (vm: VmView) => string | null;
  /** What has become of all its guests; null, or absent, where nobody has followed them. */
  witnessOf?: (vm: VmView) => Witness | null;
  /** The revisions of the pool's template that are kept. */
  revisions: readonly KeptRevision[];
  /** Claims of the pool that are marked as kept; absent where nobody looks after them. */
  keptClaims?: readonly KeptClaim[];
  /** How KubeVirt takes changes in running VMs. */
  strategy: 'Stage' | 'LiveUpdate';
  /** How the rollout stands; null where only the pool's status may tell it. */
  rollout: RolloutStatus | null;
  batches: readonly Batch[];
  /** How healing stands; absent where only the pool's status may tell it. */
  healing?: HealingState | null;
  /** No batch begins before; milliseconds since the epoch. */
  batchesNotBefore: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** VMs that may be in flight at once, creations and deletions each. */
  burst: number;
  /** VMs that may be begun with now: fewer than `burst` after a failure, none while its delay runs. */
  allowance: number;
  /** VMs that the API server would not have made, halted or deleted: others go before them. */
  refused?: RefusedVms | undefined;
  failure: Failure | null;
}
