import { isActive } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import type { VmView } from '../views/vm.ts';
import type { PlannedAttempt } from './attempt.ts';
import { memoryOf, type HealthMemory } from './refresh-state.ts';
import type { Cycle, HealingState, HealingMode } from './state.ts';
import { attemptRules, mayHaveData, type HealingView } from './view.ts';

/** An attempt that has made no progress for this long, although nothing holds it up, is begun again. */
const OVERDUE_MS = 10 * 60_000;

/**
 * Finds the attempts of cycles in progress that are to be begun, and when the next one will be overdue. To begin an
 * attempt that runs changes nothing, so an attempt whose workflow may be lost is begun again.
 */
export function dueAttempts(
  view: HealingView,
  state: HealingState,
  mode: HealingMode,
): { begin: PlannedAttempt[]; requeueAt: number | null } {
  const byUid = new Map(view.vms.map((vm) => [vm.uid, vm]));
  const memory = memoryOf(state);
  const begin: PlannedAttempt[] = [];
  let requeueAt: number | null = null;
  for (const cycle of state.cycles) {
    const vm = byUid.get(cycle.uid);
    const at = dueAt(cycle, vm, mode);
    if (at <= view.now) begin.push(attemptOf(view, memory(cycle), cycle, vm));
    else if (at < Infinity) requeueAt = earlier(requeueAt, at);
  }
  return { begin, requeueAt };
}

/** When the cycle's attempt is to be begun, in milliseconds since the epoch; Infinity if only an event can tell. */
function dueAt({ phase, run, nextAt, skipDelay = false }: Cycle, vm: VmView | undefined, mode: HealingMode): number {
  if (phase === 'Provisioning' || run.state === 'Ended') return Infinity;
  const isToBeRemoved = phase === 'Removing' && vm !== undefined && isActive(vm);
  if (isToBeRemoved && mode !== 'Active' && !skipDelay) return Infinity;
  if (run.state !== 'Running') return 0;
  // Kubernetes may take long to end a VM.
  const isTerminating = vm !== undefined && !isActive(vm);
  return isTerminating ? Infinity : Math.max(run.since, nextAt === undefined ? 0 : Date.parse(nextAt)) + OVERDUE_MS;
}

function attemptOf(
  view: HealingView,
  memory: HealthMemory,
  { vm: name, uid, attempt, message, startedAt, nextAt, run, skipDelay = false, onSameDisks = 0 }: Cycle,
  vm: VmView | undefined,
): PlannedAttempt {
  return {
    unhealthyVm: {
      name,
      uid,
      attempt,
      message,
      rules: attemptRules(view.rules),
      mayHaveData: vm === undefined || mayHaveData(view, vm),
      ...memory,
    },
    startedAt,
    ...(nextAt === undefined ? {} : { removed: { nextAt, keptDisks: onSameDisks > 0 } }),
    skipDelay,
    isAgain: run.state !== 'NotBegun',
  };
}
