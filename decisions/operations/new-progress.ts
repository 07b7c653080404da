import { newTally as newTransitionTally, transitionProgress } from '../machine-types/transition-tally.ts';
import { NO_COUNTS } from '../machine-types/transition.ts';
import { ACTION_LABELS } from '../power/action.ts';
import { newTally, powerProgress } from '../power/progress.ts';
import type { FailedVm } from '../runs/progress.ts';
import type { OperationProgress } from './action-report.ts';
import type { RunInput } from './run-input.ts';

const NOTHING = { skipped: [], full: [], inProgress: [], paused: null, aborted: null };

/** How an operation stands that begins. `failed`: see `failuresIn`. `now`: RFC 3339. */
export function newProgress(input: RunInput, failed: FailedVm[], now: string): OperationProgress {
  if (input.action === 'MachineType')
    return transitionProgress(newTransitionTally(now, failed), {
      ...NOTHING,
      phase: 'Checking',
      transition: input.transition,
      counts: NO_COUNTS,
    });
  const { action, chosen, ended } = input;
  const phase = action === 'Patch' ? 'Checking' : ACTION_LABELS[action].doing;
  return powerProgress(input, chosen.count, newTally(failed, ended), { ...NOTHING, phase, open: chosen.count });
}
