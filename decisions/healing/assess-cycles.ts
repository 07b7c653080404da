import { isMeantToRun, isActive, liveVmi } from '../health/availability.ts';
import { isExempt } from '../health/excused.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { rfc3339 } from '../lib/time.ts';
import type { VmView } from '../views/vm.ts';
import { attemptIdOf, formatReplacements, isRemoval, type AttemptId } from './attempt.ts';
import { endEvent, type HealingEvent } from './events.ts';
import { memoryOf } from './refresh-state.ts';
import { withEnd, MESSAGE_LENGTH, type Cycle, type FinishedCycle, type HealingState } from './state.ts';
import { surplusByRole, type HealingInput, type HealingView } from './view.ts';
import { healthOf, isAvailable, availableAt } from './vm-health.ts';

/** KubeVirt may not have processed a younger VM yet. */
const NEW_MS = 60_000;
/** How many VMs in a row are tried on the same disks if the pool sets no limit: another would hardly do better. */
const TRIES_ON_SAME_DISKS = 3;

interface Assessed {
  state: HealingState;
  /** Attempts that may still run although their cycles have ended. */
  cancel: AttemptId[];
  events: HealingEvent[];
  /** When the result changes without any event, in milliseconds since the epoch. */
  requeueAt: number | null;
}

type CycleEnd = Pick<FinishedCycle, 'end' | 'message'>;
/** A cycle as it continues, or how it ends. `isCut`: its attempt may still run, for nothing. */
type Assessment = { cycle: Cycle; isCut?: boolean } | CycleEnd;

/** Takes each cycle a step further if the VM, the pool, a user or its attempt calls for that. */
export function assessCycles(view: HealingView, state: HealingState): Assessed {
  return new Assessor(view, state).assessed();
}

export function endAll({ vms, now }: HealingInput, state: HealingState, message: string): Omit<Assessed, 'requeueAt'> {
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  let all: Omit<Assessed, 'requeueAt'> = { state, cancel: [], events: [] };
  for (const cycle of state.cycles) all = withEnded(all, cycle, byName.get(cycle.vm), endedAsLeft(message), now);
  return all;
}

class Assessor {
  readonly #view: HealingView;
  readonly #before: HealingState;
  /** How many more VMs the pool has than it wants, by their role. */
  readonly #surplus: ReturnType<typeof surplusByRole>;
  readonly #memory: ReturnType<typeof memoryOf>;
  #requeueAt: number | null = null;

  constructor(view: HealingView, state: HealingState) {
    this.#view = view;
    this.#before = state;
    this.#surplus = surplusByRole(view, state);
    this.#memory = memoryOf(state);
  }

  assessed(): Assessed {
    const byName = new Map(this.#view.vms.map((vm) => [vm.name, vm]));
    let all: Omit<Assessed, 'requeueAt'> = { state: this.#before, cancel: [], events: [] };
    for (const cycle of this.#before.cycles) {
      const vm = byName.get(cycle.vm);
      const found = this.#requested(cycle) ?? this.#observed(cycle, vm);
      if ('end' in found) all = withEnded(all, cycle, vm, found, this.#view.now);
      else if (found.cycle !== cycle) {
        const cycles = all.state.cycles.map((one) => (one === cycle ? found.cycle : one));
        const cancel = found.isCut === true ? [...all.cancel, attemptIdOf(cycle)] : all.cancel;
        all = { ...all, cancel, state: { ...all.state, cycles } };
      }
    }
    return { ...all, requeueAt: this.#requeueAt };
  }

  /** How a user's request or the attempt's outcome ends the cycle; null if neither does. */
  #requested({ skipped, run }: Cycle): Assessment | null {
    if (skipped !== undefined) return { end: 'Skipped', message: skipped };
    if (run.state !== 'Ended') return null;
    const { outcome } = run;
    switch (outcome.end) {
      case 'Removed':
        return null;
      case 'Kept':
        return { end: 'Left', message: outcome.message };
      case 'Refused':
        return { end: 'Refused', message: outcome.message };
      case 'Cancelled':
        return { end: 'Skipped', message: 'its workflow was cancelled' };
    }
  }

  #observed(cycle: Cycle, vm: VmView | undefined): Assessment {
    const { named } = this.#view;
    if (named.has(cycle.uid) || (vm !== undefined && named.has(vm.uid)))
      return endedAsLeft('a user has requested its removal by name');
    if (vm === undefined) return this.#absent(cycle);
    if (vm.uid === cycle.uid) return this.#stillThere(cycle, vm);
    return cycle.phase === 'Provisioning' ? this.#new(cycle, vm) : this.#continue(cycle);
  }

  /** No VM of that name belongs to the pool. */
  #absent(cycle: Cycle): Assessment {
    if (this.#view.isVmNameTaken(cycle.vm)) return endedAsLeft('it has left the pool');
    return this.#isTooMany(cycle) ? this.#yield(cycle) : this.#continue(cycle);
  }

  /** The unhealthy VM itself. */
  #stillThere(cycle: Cycle, vm: VmView): Assessment {
    const { vmiOf, minReadyMs, now } = this.#view;
    const vmi = vmiOf(vm);
    // The attempt has seen that the VM is gone, and this worker's cache is behind.
    if (cycle.phase === 'Waiting') return this.#continue(cycle);
    if (cycle.phase === 'Provisioning') return endedAsLeft('it is there again');
    if (this.#isTooMany(cycle)) return this.#yield(cycle);
    if (!isActive(vm)) return { cycle };
    if (isAvailable(vm, vmi, minReadyMs, now)) return { end: 'Healed', message: 'it runs well again' };
    if (vm.optedOut) return endedAsLeft('its owner opted out of disruption');
    if (!isMeantToRun(vm, vmi)) return endedAsLeft('it is not meant to run');
    this.#requeue(availableAt(vm, vmi, minReadyMs, now));
    return { cycle };
  }

  /**
   * The new VM may be created once the delay is over, unless a user has paused healing; or at once, if a user has
   * asked for that.
   */
  #continue(cycle: Cycle): Assessment {
    const { nextAt = rfc3339(this.#view.now), skipDelay = false, ...rest } = cycle;
    const isDelayOver = skipDelay || (cycle.run.state === 'Ended' && this.#before.paused === undefined);
    if (cycle.phase !== 'Waiting' || !isDelayOver) return { cycle };
    const outcome = { end: 'Removed', keptDisks: (cycle.onSameDisks ?? 0) > 0, nextAt } as const;
    return { cycle: { ...rest, phase: 'Provisioning', run: { state: 'Ended', outcome } }, isCut: mayRun(cycle) };
  }

  /** The replacement. */
  #new(cycle: Cycle, vm: VmView): Assessment {
    const { vmiOf, minReadyMs, now } = this.#view;
    const vmi = vmiOf(vm);
    if (!isActive(vm)) return endedAsLeft('it leaves the pool');
    if (vm.optedOut) return endedAsLeft('its owner opted out of disruption');
    if (isExempt(vm, vmi)) return { cycle };
    if (isAvailable(vm, vmi, minReadyMs, now)) return { end: 'Healed', message: cycle.message };
    if (!isMeantToRun(vm, vmi)) {
      const timeoutMs = vm.runStrategy === 'RerunOnFailure' ? NEW_MS : 0;
      return this.#endAfter(vm.createdAt + timeoutMs, cycle, 'it is not meant to run');
    }
    return this.#notYetAvailable(cycle, vm);
  }

  #notYetAvailable(cycle: Cycle, vm: VmView): Assessment {
    const { vmiOf, lastFailureOf, nodeCounts, rules, minReadyMs, timeoutMs, now } = this.#view;
    const vmi = vmiOf(vm);
    const memory = this.#memory(vm);
    const runs = { hasRun: true, hasRunItself: vm.notYetRun === null };
    const health = healthOf({ vm, vmi, lastFailure: lastFailureOf(vm), ...memory, ...runs, nodeCounts, rules, now });
    if (health.unhealthy) return this.#unhealthyAgain(cycle, vm, health.message);
    this.#requeue(health.at);
    const isAvailableAt = availableAt(vm, vmi, minReadyMs, now);
    this.#requeue(isAvailableAt);
    // New disks don't bring what the VM waits for; an update or time may. If a start has failed before, a VMI that
    // lasts this long counts as no longer failing.
    const since = vm.startFailures + memory.earlyExits === 0 ? vm.createdAt : liveVmi(vmi)?.createdAt;
    const isTimed = rules.unhealthyAfter.notReady !== 'never' && vmi !== undefined && vmi.scheduledAt !== null;
    if (since === undefined || isTimed || isAvailableAt !== null) return { cycle };
    const message = `it is not ready yet (${vm.state || 'New'}), and does not fail`;
    return this.#endAfter(since + timeoutMs, cycle, message);
  }

  #unhealthyAgain(cycle: Cycle, { uid }: VmView, message: string): Assessment {
    const { maxAttempts } = this.#view.rules;
    const { attempt, onSameDisks = 0 } = cycle;
    if (maxAttempts !== null && attempt >= maxAttempts)
      return { end: 'GivenUp', message: `given up after ${formatReplacements(attempt)}: ${message}` };
    if (maxAttempts === null && onSameDisks >= TRIES_ON_SAME_DISKS) {
      const kept = 'which are kept: delete the VM to have them recreated';
      return {
        end: 'GivenUp',
        message: `given up after ${formatReplacements(onSameDisks)} on the same disks, ${kept} (${message})`,
      };
    }
    const next = { uid, attempt: attempt + 1, message: message.slice(0, MESSAGE_LENGTH) };
    return { cycle: { ...cycle, ...next, phase: 'Removing', run: { state: 'NotBegun' } } };
  }

  #isTooMany({ role }: Cycle): boolean {
    return this.#surplus.get(role)! > 0;
  }

  #yield({ role }: Cycle): Assessment {
    this.#surplus.set(role, this.#surplus.get(role)! - 1);
    return endedAsLeft('the pool needs fewer VMs now');
  }

  #endAfter(at: number, cycle: Cycle, message: string): Assessment {
    if (at <= this.#view.now) return endedAsLeft(message);
    this.#requeue(at);
    return { cycle };
  }

  #requeue(at: number | null): void {
    if (at !== null && at > this.#view.now) this.#requeueAt = earlier(this.#requeueAt, at);
  }
}

function withEnded(
  { state, cancel, events }: Omit<Assessed, 'requeueAt'>,
  cycle: Cycle,
  vm: VmView | undefined,
  end: CycleEnd,
  now: number,
): Omit<Assessed, 'requeueAt'> {
  const ended = { ...end, uid: uidOf(cycle, vm, end), attempts: replacementsOf(cycle, vm) };
  return {
    state: withEnd(state, cycle, ended, now),
    cancel: mayRun(cycle) ? [...cancel, attemptIdOf(cycle)] : cancel,
    events: [...events, ...endEvent(cycle, end, ended.attempts)],
  };
}

const endedAsLeft = (message: string): CycleEnd => ({ end: 'Left', message });

/** Whether the workflow of the cycle's attempt may still run. */
const mayRun = ({ phase, run }: Cycle): boolean =>
  phase !== 'Provisioning' && (run.state === 'Running' || run.state === 'Unknown');

function replacementsOf(cycle: Cycle, vm: VmView | undefined): number {
  const { phase, attempt, run } = cycle;
  const isThere = vm?.uid === cycle.uid && isActive(vm);
  const isRemoved = run.state === 'Ended' ? isRemoval(run.outcome) : run.state !== 'NotBegun' && !isThere;
  return phase !== 'Removing' || isRemoved ? attempt : attempt - 1;
}

/** UID of the VM that the cycle leaves; '' if a user has skipped a VM that is not there yet, or may still go. */
function uidOf(cycle: Cycle, vm: VmView | undefined, { end }: CycleEnd): string {
  const { uid, phase, run } = cycle;
  const there = vm !== undefined && isActive(vm) ? vm.uid : null;
  if (end !== 'Skipped') return there ?? uid;
  const isRemoved = phase !== 'Provisioning' && run.state === 'Ended' && isRemoval(run.outcome);
  return isRemoved || mayRun(cycle) ? '' : (there ?? '');
}
