import type { Stored } from '../../../api/objects.ts';
import type { ReplicaSetSpec, ReplicaSetStatus } from '../../../api/replica-set/replica-set.ts';
import { ownerKindOf } from '../../../clients/cli/kinds.ts';
import type { ReplicaSet } from '../../../decisions/views/owner.ts';
import { bareSet } from '../../api/replica-set/replica-sets.ts';

export const VmSets = ownerKindOf('VirtualMachineReplicaSet')!;

/** A set as the API server has it. */
export const setWith = (
  spec: Partial<ReplicaSetSpec> = {},
  status: Partial<ReplicaSetStatus> = {},
  metadata: object = {},
): Stored<ReplicaSet> => {
  const set = bareSet(spec);
  const stored = { uid: 'set-uid', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...set, metadata: { ...set.metadata, ...stored, ...metadata }, status: { replicas: 3, ...status } };
};
