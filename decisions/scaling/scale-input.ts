import type { PlanInput } from '../owners/plan-input.ts';
import type { Creation, PoolStep } from '../owners/steps.ts';
import type { NamedVms } from '../views/annotations/named-vms.ts';
import type { RemovalStep } from './removal.ts';

/** What scaling reads besides the pool and its VMs. */
export type ScaleInput = Pick<
  PlanInput,
  'pool' | 'vms' | 'vmiOf' | 'zoneOf' | 'isVmNameTaken' | 'inProgress' | 'batches' | 'burst' | 'backoffs' | 'now'
> & {
  /** Names of VMs that healing holds: scaling neither creates nor removes them. */
  reserved: ReadonlySet<string>;
  /** Names without a VM that an update will create: scaling doesn't create them. */
  pendingCreates: ReadonlySet<string>;
  /** Names among them that will be no replicas of the pool. */
  pendingNonReplicas: ReadonlySet<string>;
  /** Names of VMs that are being healed: they leave before others. */
  unhealthy: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
  /** Names that are created before others: they belonged to the pool. */
  first: readonly string[];
  /** The same of standby VMs. */
  firstStandby: readonly string[];
  /** VMs that users want removed. */
  removals: NamedVms;
  /** The lowest number that a new VM may have: 0 only if disks of a VM 0 are kept. */
  lowest: number;
  /** `burst` for members that are going from a pool that begins nothing else. */
  burstToFinish: number;
};

/** A scaling step; another part decides the revision of new VMs. */
export type ScaleStep =
  | RemovalStep
  | Extract<PoolStep, { kind: 'promoteStandby' | 'setStandbyState' | 'clearNamedRemovals' }>
  | Creation;
