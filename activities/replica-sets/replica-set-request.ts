import type { SetKind } from '../../api/owner-kinds.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { VmiSetInput } from '../../decisions/replica-sets/plan-input.ts';
import type { ReplicaSetPlan } from '../../decisions/replica-sets/plan.ts';
import type { OwnerKey } from '../owners/owner-key.ts';
import type { KnownStatus, StatusRequest } from '../owners/status.ts';

/** A replica set, by its UID: what is done for it is not done for a later set of the same name. */
export interface ReplicaSetKey extends OwnerKey {
  kind: SetKind;
}

/** What the workflow of a set asks a worker to plan from; `now` is the workflow's clock. */
export interface ReplicaSetRequest
  extends StatusRequest, Pick<VmiSetInput, 'inProgress' | 'uncertain' | 'backoffs' | 'starts' | 'now'> {
  kind: SetKind;
  namespace: string;
  name: string;
  minVersions: ResourceVersions;
  /** Whether something may have been done since without being reported: only a new list can tell. */
  resultUnknown: boolean;
}

export type PlannedSet =
  | { gone: true }
  | ({
      gone: false;
      key: ReplicaSetKey;
      /** The generation of the spec that the plan was made for. */
      generation: number;
      /** By how much the API server's clock is ahead of the workflow's: `wakeAt` is a time of the workflow's. */
      clockAheadMs: number;
    } & KnownStatus &
      Omit<ReplicaSetPlan, 'status'>);

export interface CreateReplicasOptions {
  /** Generation of the set's spec when this was planned. */
  generation: number;
  skipSlowStart: boolean;
}
