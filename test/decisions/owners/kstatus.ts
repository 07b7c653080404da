import type { Condition } from '../../../api/pool/pool.ts';

/** What a tool that waits for an object makes of it. */
export type WaitedFor = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

interface Waited {
  metadata: { generation?: number; deletionTimestamp?: string };
  status?: { observedGeneration?: number; conditions?: Condition[] };
}

/**
 * The rules that Kubernetes' library kstatus has for kinds that it knows nothing of, as its documentation puts them: an
 * object that goes, or whose newest generation was not observed, is on the way; so is one that reconciles; one that is
 * stalled has failed, and of the two the first that it lists counts. Else it is there, unless it says that it is not
 * ready.
 */
export function kstatus({ metadata, status: { observedGeneration, conditions = [] } = {} }: Waited): WaitedFor {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) return 'InProgress';
  const abnormal = conditions.find(
    ({ type, status }) => status === 'True' && (type === 'Reconciling' || type === 'Stalled'),
  );
  if (abnormal !== undefined) return abnormal.type === 'Stalled' ? 'Failed' : 'InProgress';
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}
