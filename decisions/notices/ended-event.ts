import { NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import { conditionOf } from '../../api/objects.ts';
import type { PoolStatus } from '../../api/pool/status.ts';
import type { OwnerEvent } from '../owners/events.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** Returns the Event about a rollout, or an undo, that has ended well since the stored status; none for new pools. */
export function endedEvent(stored: PoolStatus | undefined, planned: PoolStatus): OwnerEvent[] {
  const [before, after] = [stored?.rollout, planned.rollout];
  if (before === undefined || after === undefined || after.batches === 0) return [];
  const event = { type: 'Normal', action: NOTICE_ACTION } as const;
  if (after.completedAt !== undefined && before.completedAt === undefined)
    return [{ ...event, reason: 'RolloutCompleted', note: `all VMs have revision ${after.revision}` }];
  const [was, is] = [conditionOf(stored, 'Degraded')?.reason, conditionOf(planned, 'Degraded')];
  return is?.reason === 'Undone' && was !== 'Undone'
    ? [{ ...event, reason: 'RolloutUndone', note: is.message ?? '' }]
    : [];
}

/** Returns the Event about how the operation has ended; null while it has not. */
export function operationEndedEvent({ status }: StoredOperation): OwnerEvent | null {
  const end = status?.conditions?.find(
    ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
  );
  if (status?.completionTime === undefined || end === undefined) return null;
  const event = { action: NOTICE_ACTION, note: `${end.reason}: ${end.message}` } as const;
  return end.type === 'Complete' || end.reason === 'Aborted'
    ? { ...event, type: 'Normal', reason: 'OperationEnded' }
    : { ...event, type: 'Warning', reason: 'OperationFailed' };
}
