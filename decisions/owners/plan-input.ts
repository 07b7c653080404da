import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { WhyHeld } from '../disruption/held.ts';
import type { VmiOf } from '../health/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { Batch } from './batch.ts';
import type { Backoffs } from './failures.ts';

/** What the capabilities of a pool plan from. */
export interface PlanInput {
  pool: StoredPool;
  /** All VMs that the pool owns, including terminating ones. */
  vms: readonly VmView[];
  /** VMs of its namespace that no controller owns; absent if they are not watched. */
  uncontrolled?: readonly VmView[];
  /** Whether a VM of this name exists in the pool's namespace and belongs to another owner. */
  isVmNameTaken: (name: string) => boolean;
  /** Names that activities are working on now. `cancelled`: by attempts to heal them that were asked to end. */
  inProgress: {
    /** VMs that are created or promoted, to be replicas. */
    creating: readonly string[];
    deleting: readonly string[];
    cancelled?: readonly string[];
    evacuating?: readonly string[];
    /** Standby VMs that are created, or brought to their state. */
    standby?: readonly string[];
  };
  vmiOf: VmiOf;
  /** Absent if no budgets select VMs. */
  whyHeld?: WhyHeld | undefined;
  /** The zone of a node; null or absent if it is unknown. */
  zoneOf?: (node: string) => string | null;
  /** How the rollout stands; null for a new pool. */
  rollout: RolloutStatus | null;
  batches: readonly Batch[];
  /** Milliseconds since the epoch. */
  now: number;
  /** How many VMs may be in flight at once, for creations and deletions each. */
  burst: number;
  /** What earlier failures leave to this plan. */
  backoffs: Backoffs;
}
