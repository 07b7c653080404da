import { isMeantToRun, isActive, liveVmi } from '../disruption-budget/availability.ts';
import { earlier } from '../lib/times.ts';
import type { VmView } from '../views/vm.ts';
import { healthOf, isLeftAlone, isAvailable, availableAt } from './sickness.ts';
import {
  failingSince,
  pauseEndedAt,
  inProgress,
  WHY_LENGTH,
  type Cycle,
  type HealingState,
  type ToldVerdict,
} from './state.ts';
import { cycleRules, holdsData, surplusOf, type HealingView } from './view.ts';

/** KubeVirt may not have processed a younger VM yet. */
const NEW_MS = 60_000;

/** Returns the verdicts to send to the cycles, and when time alone changes them (milliseconds since the epoch). */
export function judge(view: HealingView, state: HealingState): { verdicts: ToldVerdict[]; wakeAt: number | null } {
  return new Judge(view, state).verdicts();
}

class Judge {
  readonly #view: HealingView;
  readonly #state: HealingState;
  readonly #verdicts: ToldVerdict[] = [];
  #surplus: number;
  #wakeAt: number | null = null;

  constructor(view: HealingView, state: HealingState) {
    this.#view = view;
    this.#state = state;
    this.#surplus = surplusOf(view, state);
  }

  verdicts(): { verdicts: ToldVerdict[]; wakeAt: number | null } {
    const byName = new Map(this.#view.vms.map((vm) => [vm.name, vm]));
    for (const cycle of inProgress(this.#state.cycles)) {
      const vm = byName.get(cycle.vm);
      if (vm === undefined) this.#absent(cycle);
      else if (vm.uid === cycle.uid) this.#stillThere(cycle, vm);
      else if (cycle.phase === 'Removing') this.#gone(cycle);
      else if (cycle.phase === 'Provisioning') this.#new(cycle, vm);
    }
    return { verdicts: this.#verdicts, wakeAt: this.#wakeAt };
  }

  /** No VM of that name belongs to the pool. */
  #absent(cycle: Cycle): void {
    if (this.#view.isHeldByOther(cycle.vm)) this.#left(cycle, 'it has left the pool');
    else if (this.#surplus > 0) this.#yield(cycle);
    else if (cycle.phase === 'Removing') this.#gone(cycle);
  }

  /** The sick VM itself. */
  #stillThere(cycle: Cycle, vm: VmView): void {
    const { vmiOf, minReadyMs, now } = this.#view;
    const vmi = vmiOf(vm);
    // Another worker's cache has shown that the VM is gone, and this worker's cache is behind.
    if (cycle.phase === 'Waiting') return;
    if (cycle.phase !== 'Removing') this.#left(cycle, 'it is there again');
    else if (this.#surplus > 0) this.#yield(cycle);
    else if (!isActive(vm)) return;
    else if (isAvailable(vm, vmi, minReadyMs, now))
      this.#verdicts.push({ vm: cycle.vm, verdict: 'Well', attempt: cycle.attempt, uid: vm.uid });
    else if (vm.optedOut) this.#left(cycle, 'its owner asked that nothing disrupts it');
    else if (!isMeantToRun(vm, vmi)) this.#left(cycle, 'it is not meant to run');
    else this.#wake(availableAt(vm, vmi, minReadyMs, now));
  }

  /** The replacement. */
  #new(cycle: Cycle, vm: VmView): void {
    const { vmiOf, lastTroubleOf, rules, minReadyMs, patienceMs, now } = this.#view;
    const vmi = vmiOf(vm);
    const { attempt, vm: name } = cycle;
    if (!isActive(vm)) return this.#left(cycle, 'it leaves the pool');
    if (vm.optedOut) return this.#left(cycle, 'its owner asked that nothing disrupts it');
    if (isLeftAlone(vm, vmi)) return;
    if (isAvailable(vm, vmi, minReadyMs, now))
      return void this.#verdicts.push({ vm: name, verdict: 'Well', attempt, uid: vm.uid });
    if (!isMeantToRun(vm, vmi))
      return this.#after(
        vm.createdAt + (vm.runStrategy === 'RerunOnFailure' ? NEW_MS : 0),
        cycle,
        'it is not meant to run',
      );
    const earlyEnds = this.#state.earlyEnds.find(({ vmUid }) => vmUid === vm.uid)?.count ?? 0;
    const failedSince = failingSince(this.#state, vm.uid);
    const health = healthOf({
      vm,
      vmi,
      lastTrouble: lastTroubleOf(vm),
      failingSince: failedSince,
      pauseEndedAt: pauseEndedAt(this.#state, vm.uid),
      earlyEnds,
      hasRun: true,
      rules,
      now,
    });
    if (health.sick) {
      const sick = {
        uid: vm.uid,
        attempt: attempt + 1,
        why: health.why.slice(0, WHY_LENGTH),
        rules: cycleRules(rules),
        holdsData: holdsData(this.#view, vm),
        earlyEnds,
        failingSince: failedSince,
      };
      return void this.#verdicts.push({ vm: name, verdict: 'Sick', ...sick });
    }
    this.#wake(health.at);
    this.#wake(availableAt(vm, vmi, minReadyMs, now));
    // New disks don't bring what the VM waits for; an update or time may. If a start has failed before, a VMI that
    // lasts this long counts as no longer failing.
    const since = vm.startFailures + earlyEnds === 0 ? vm.createdAt : liveVmi(vmi)?.createdAt;
    const isTimed = rules.unhealthyAfter.notReady !== 'never' && vmi !== undefined && vmi.scheduledAt !== null;
    if (since !== undefined && !isTimed && availableAt(vm, vmi, minReadyMs, now) === null)
      this.#after(since + patienceMs, cycle, `it is not ready yet (${vm.state || 'New'}), and does not fail`);
  }

  #gone({ vm, attempt }: Cycle): void {
    this.#verdicts.push({ vm, verdict: 'Gone', attempt, rules: cycleRules(this.#view.rules) });
  }

  #left({ vm }: Cycle, why: string): void {
    this.#verdicts.push({ vm, verdict: 'Left', why });
  }

  #yield(cycle: Cycle): void {
    this.#surplus--;
    this.#left(cycle, 'the pool needs fewer VMs now');
  }

  #after(at: number, cycle: Cycle, why: string): void {
    if (at <= this.#view.now) this.#left(cycle, why);
    else this.#wake(at);
  }

  #wake(at: number | null): void {
    if (at !== null && at > this.#view.now) this.#wakeAt = earlier(this.#wakeAt, at);
  }
}
