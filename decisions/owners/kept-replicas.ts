import type { StoredVmOwner } from '../views/owner.ts';
import type { PoolStep } from './steps.ts';

/**
 * Returns the step that writes into the spec how many members are wanted, if the spec leaves that out: the scale
 * subresource, and so `kubectl scale` and autoscalers, read it there.
 */
export function keptReplicas({
  metadata,
  spec: { replicas },
  replicasOmitted,
}: StoredVmOwner): Extract<PoolStep, { kind: 'keepReplicas' }>[] {
  if (replicasOmitted !== true || metadata.deletionTimestamp !== undefined) return [];
  return [{ kind: 'keepReplicas', replicas, reason: `the spec has no replicas: the number stays ${replicas}` }];
}
