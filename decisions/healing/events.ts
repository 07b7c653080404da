import type { EventReason } from '../../api/reasons.ts';
import { formatReplacements } from './attempt.ts';
import type { Cycle, FinishedCycle, HealingMode } from './state.ts';

type CycleEnd = Pick<FinishedCycle, 'end' | 'why'>;

export interface HealingEvent {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  note: string;
  /** The end of a cycle that the Event tells, for `drover history`. */
  ended?: Pick<Cycle, 'vm'> & CycleEnd;
}

/** The Event about the end of a cycle; none for a VM that runs well again without a replacement. */
export function endEvent({ vm }: Cycle, { end, why }: CycleEnd, attempts: number): HealingEvent[] {
  if (end === 'Healed' && attempts === 0) return [];
  const [type, reason, note] = END_EVENTS[end];
  return [{ type, reason, note: note(vm, why, attempts), ended: { vm, end, why } }];
}

type Note = (vm: string, why: string, attempts: number) => string;
const left: Note = (vm, why) => `${vm}: ${why}`;
const END_EVENTS: Record<FinishedCycle['end'], [HealingEvent['type'], EventReason, Note]> = {
  GivenUp: ['Warning', 'HealingGivenUp', left],
  Refused: ['Warning', 'HealingRefused', (vm, why) => `${vm} is unhealthy and could not be deleted: ${why}`],
  Healed: ['Normal', 'Healed', (vm, _why, attempts) => `${vm} runs well after ${formatReplacements(attempts)}`],
  Skipped: ['Normal', 'HealingEnded', left],
  Left: ['Normal', 'HealingEnded', left],
};

/** The Event about the beginning or the end of a suspension, which `why` explains. */
export function modeEvent(before: HealingMode, hold: HealingMode, why: string | null): HealingEvent[] {
  if (hold === before) return [];
  if (hold === 'NoNewReplacements') return [{ type: 'Warning', reason: 'HealingSuspended', note: why ?? '' }];
  if (before !== 'NoNewReplacements') return [];
  return [{ type: 'Normal', reason: 'HealingResumed', note: 'fewer VMs are unhealthy now' }];
}
