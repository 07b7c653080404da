import { POOL_LABEL } from '../api/names.ts';
import type { Condition, PoolStatus } from '../api/pool.ts';
import { canonical } from './canonical.ts';
import { revisionOf } from './revision.ts';
import type { StoredPool } from './vm-from-template.ts';
import type { VmView } from './vm.ts';

/** A failure to make the pool what it should be, from when it began until it passes. */
export interface Failure {
  reason: 'FailedCreate' | 'FailedDelete';
  message: string;
  /** RFC 3339: since when. */
  since: string;
}

/** What the pool's status should say, of the VMs that it owns. */
export function poolStatus(pool: StoredPool, vms: readonly VmView[], failure: Failure | null): PoolStatus {
  const staying = vms.filter((vm) => !vm.deleting);
  const revision = revisionOf(pool.spec.template);
  const others = (pool.status?.conditions ?? []).filter((condition) => condition.type !== 'ReplicaFailure');
  return {
    observedGeneration: pool.metadata.generation ?? 0,
    replicas: staying.length,
    readyReplicas: staying.filter((vm) => vm.ready).length,
    updatedReplicas: staying.filter((vm) => vm.revision === revision).length,
    labelSelector: `${POOL_LABEL}=${pool.metadata.name}`,
    updateRevision: revision,
    conditions: failure === null ? others : [...others, replicaFailure(failure)],
  };
}

const replicaFailure = ({ reason, message, since }: Failure): Condition => ({
  type: 'ReplicaFailure',
  status: 'True',
  reason,
  message,
  lastTransitionTime: since,
});

/** True where `current` already says all that `wanted` does. */
export function saysTheSame(current: PoolStatus | undefined, wanted: PoolStatus): boolean {
  if (current === undefined) return false;
  const said = Object.fromEntries(Object.keys(wanted).map((key) => [key, current[key as keyof PoolStatus]]));
  return canonical(said) === canonical(wanted);
}
