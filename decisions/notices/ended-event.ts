import { NOTICE_ACTION } from '../../api/labels-and-annotations.ts';
import { conditionOf } from '../../api/objects.ts';
import type { PoolStatus } from '../../api/pool/status.ts';
import type { OwnerEvent } from '../owners/events.ts';

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
