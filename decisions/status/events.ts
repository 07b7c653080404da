import type { EventReason } from '../../api/reasons.ts';

/** An Event on a pool or a set about a change of its status. */
export interface OwnerEvent {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  /** What drover was doing. */
  action: string;
  note: string;
}
