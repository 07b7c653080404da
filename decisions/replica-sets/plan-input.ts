import type { VmiOf } from '../health/availability.ts';
import type { Backoffs } from '../owners/failures.ts';
import type { StoredReplicaSet, StoredSet } from '../views/owner.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { FailedStarts } from './start-backoff.ts';

/** What the plans of sets of both kinds read besides the set and its members. */
export interface Circumstances {
  /** Whether something of this name exists that is not the set's. */
  isVmNameTaken: (name: string) => boolean;
  /** Names that activities are working on now. */
  inProgress: { creating: readonly string[]; deleting: readonly string[] };
  /** Names whose creation has an unknown result: they may exist, or still come to exist. */
  uncertain: readonly string[];
  /** By the API server's clock, in milliseconds since the epoch. */
  now: number;
  /** How many members may be in flight at once, for creations and deletions each. */
  burst: number;
  /** What earlier failures leave to this plan. */
  backoffs: Backoffs;
  /** All sets of its kind. */
  sets: Iterable<StoredSet>;
  /** VMs of its namespace that the set does not control. */
  otherVms: Iterable<VmView>;
}

export interface ReplicaSetInput extends Circumstances {
  set: StoredReplicaSet;
  /** All VMs that the set controls, including terminating ones. */
  vms: readonly VmView[];
  /** VMs of its namespace that no controller owns. */
  uncontrolled: readonly VmView[];
  vmiOf: VmiOf;
}

export interface VmiSetInput extends Circumstances {
  set: StoredSet;
  /** All VMIs that the set controls, including terminating ones. */
  vmis: readonly VmiView[];
  /** VMIs of its namespace that no controller owns. */
  uncontrolled: readonly VmiView[];
  /** VMIs of its namespace that neither the set nor a VM controls. */
  otherVmis: Iterable<VmiView>;
  /** What the last plan knew of failed starts. */
  starts: FailedStarts | null;
}
