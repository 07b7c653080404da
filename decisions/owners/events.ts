import type { HandledRequest } from '../../api/pool/pool.ts';
import type { EventReason } from '../../api/reasons.ts';

/** An Event on a pool or a set about a change of its status. */
export interface OwnerEvent {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  /** What drover was doing. */
  action: string;
  note: string;
  /** The request of a user that it reports, for `drover history`, and what that is about, such as `rollout`. */
  request?: HandledRequest & { what: string };
}
