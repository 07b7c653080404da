import type { EventReason } from '../../api/reasons.ts';
import { formatReplacements } from './attempt.ts';
import type { Cycle, FinishedCycle, HealingMode } from './state.ts';

type CycleEnd = Pick<FinishedCycle, 'end' | 'message'>;

export interface HealingEvent {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  note: string;
  /** The end of a cycle that the Event tells, for `drover history`. */
  ended?: Pick<Cycle, 'vm'> & CycleEnd;
}

/** The Event about the end of a cycle; none for a VM that runs well again without a replacement. */
export function endEvent({ vm }: Cycle, { end, message }: CycleEnd, attempts: number): HealingEvent[] {
  if (end === 'Healed' && attempts === 0) return [];
  const [type, reason, note] = END_EVENTS[end];
  return [{ type, reason, note: note(vm, message, attempts), ended: { vm, end, message } }];
}

type FormatNote = (vm: string, message: string, attempts: number) => string;
const noteOf: FormatNote = (vm, message) => `${vm}: ${message}`;
const END_EVENTS: Record<FinishedCycle['end'], [HealingEvent['type'], EventReason, FormatNote]> = {
  GivenUp: ['Warning', 'HealingGivenUp', noteOf],
  Refused: ['Warning', 'HealingRefused', (vm, message) => `${vm} is unhealthy and could not be deleted: ${message}`],
  Healed: ['Normal', 'Healed', (vm, _message, attempts) => `${vm} runs well after ${formatReplacements(attempts)}`],
  Skipped: ['Normal', 'HealingEnded', noteOf],
  Left: ['Normal', 'HealingEnded', noteOf],
};

/** The Event about the beginning or the end of a suspension, which `why` explains. */
export function modeEvent(before: HealingMode, mode: HealingMode, message: string | null): HealingEvent[] {
  if (mode === before) return [];
  if (mode === 'NoNewReplacements') return [{ type: 'Warning', reason: 'HealingSuspended', note: message ?? '' }];
  if (before !== 'NoNewReplacements') return [];
  return [{ type: 'Normal', reason: 'HealingResumed', note: 'fewer VMs are unhealthy now' }];
}
