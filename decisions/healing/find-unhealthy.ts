import { isPausedOnRequest } from '../disruption/pause.ts';
import { whyNotNow, type Reason } from '../disruption/reasons.ts';
import { isActive, liveVmi } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { byNumber } from '../lib/names.ts';
import { rfc3339 } from '../lib/time.ts';
import { numberOf } from '../template/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { formatReplacements, type FoundUnhealthy } from './attempt.ts';
import { healingBackoffMs } from './backoff.ts';
import { memoryOf } from './refresh-state.ts';
import { remembered, MESSAGE_LENGTH, type FinishedCycle, type HealingState } from './state.ts';
import { surplusByRole, type HealingView } from './view.ts';
import { healthOf } from './vm-health.ts';

/** Only VMs with names that the pool gives are healed, and only VMs that it needs to keep. */
const isNotHealed = (pool: StoredPool, vm: VmView): boolean =>
  !isActive(vm) || vm.role === 'Surge' || numberOf(pool.metadata.name, vm.name) === null;

/** A VM that moves may be unready because of that. */
const MOVES: ReadonlySet<Reason['kind']> = new Set(['Evacuates', 'Migrates', 'Receives']);

/** A VM that is not ready and not replaced. `waitsFor`: what its replacement waits for; absent if it needs none. */
export interface NotReplaced {
  vm: string;
  message: string;
  waitsFor?: string;
}

interface Found {
  unhealthy: FoundUnhealthy[];
  /** How many are unhealthy although healing has done what it may: they are given up, or can't be deleted. */
  unhealed: number;
  finished: FinishedCycle[];
  /** Sick VMs whose replacement waits, in the order of their numbers. */
  waiting: NotReplaced[];
  /** VMs that are not ready, and need no replacement, in the order of their numbers. */
  exempt: NotReplaced[];
  requeueAt: number | null;
}

/**
 * Finds unhealthy VMs that nothing else is working on, in the order of their numbers, and VMs that are not replaced,
 * and why.
 */
export function findUnhealthy(view: HealingView, state: HealingState): Found {
  const { pool, vms, vmiOf, lastFailureOf, nodeCounts, busy, named, rules, now } = view;
  const healing = new Set(state.cycles.map(({ vm }) => vm));
  const memory = memoryOf(state);
  const all: { vm: VmView; unhealthy: FoundUnhealthy }[] = [];
  const exempt: NotReplaced[] = [];
  let requeueAt: number | null = null;
  for (const vm of vms) {
    if (
      isNotHealed(pool, vm) ||
      healing.has(vm.name) ||
      busy.has(vm.name) ||
      named.has(vm.uid) ||
      isPausedOnRequest(vmiOf(vm))
    )
      continue;
    const reason = whyNotNow(vm, liveVmi(vmiOf(vm)));
    if (reason !== null && MOVES.has(reason.kind)) continue;
    const { name, uid } = vm;
    const known = { vm, vmi: vmiOf(vm), lastFailure: lastFailureOf(vm), ...memory(vm) };
    const health = healthOf({ ...known, hasRun: vm.notYetRun === null, nodeCounts, rules, now });
    const message = health.unhealthy ? health.message.slice(0, MESSAGE_LENGTH) : '';
    if (health.unhealthy && reason !== null) exempt.push({ vm: name, message: `${reason.message} (${message})` });
    else if (health.unhealthy)
      all.push({
        vm,
        unhealthy: { name, uid, attempt: 1, message, ...(vm.role === 'Standby' ? { role: vm.role } : {}) },
      });
    else requeueAt = earlier(requeueAt, health.at);
    if (!health.unhealthy && health.exempt !== undefined) exempt.push({ vm: name, message: health.exempt });
  }
  all.sort((a, b) => byNumber(a.vm.name, b.vm.name));
  const found = replaceable(view, state, all);
  return {
    ...found,
    exempt: exempt.toSorted((a, b) => byNumber(a.vm, b.vm)),
    requeueAt: earlier(requeueAt, found.requeueAt),
  };
}

function replaceable(
  view: HealingView,
  state: HealingState,
  all: readonly { vm: VmView; unhealthy: FoundUnhealthy }[],
): Omit<Found, 'exempt'> {
  const { unverified, rules, now } = view;
  const memory = new Map(state.finished.map((one) => [one.vm, one]));
  const unhealthy: FoundUnhealthy[] = [];
  const waiting: NotReplaced[] = [];
  let { finished } = state;
  let unhealed = 0;
  let requeueAt: number | null = null;
  let again = 0;
  const surplus = surplusByRole(view, state);
  for (const { vm, unhealthy: one } of all) {
    const { name, uid, message } = one;
    const wait = (waitsFor: string): void => void waiting.push({ vm: name, message, waitsFor });
    const last = memory.get(name);
    const attempts = last?.attempts ?? 0;
    if (last !== undefined && last.uid === uid && last.end === 'Skipped') wait('its healing was skipped by a user');
    else if (last !== undefined && last.uid === uid && last.end === 'GivenUp') {
      unhealed++;
      wait(`given up after ${formatReplacements(attempts)}`);
    } else if (last !== undefined && last.uid === uid && (again = againAt(view, last)) > now) {
      unhealed++;
      requeueAt = earlier(requeueAt, again);
      wait(`its deletion was refused (${last.message}), and is asked for again at ${rfc3339(again)}`);
    } else if (vm.revision !== null && vm.revision === unverified)
      wait(`no VM has run revision ${unverified} yet, and its rollout decides`);
    else if (rules.maxAttempts !== null && attempts >= rules.maxAttempts) {
      unhealed++;
      const givenUp = `given up after ${formatReplacements(attempts)}`;
      const ended = { vm: name, uid, attempts, end: 'GivenUp', message: givenUp, at: rfc3339(now) } as const;
      finished = remembered(finished, ended);
      wait(givenUp);
    } else if (surplus.get(one.role)! > 0) wait('the pool has more VMs than it wants');
    else unhealthy.push({ ...one, attempt: attempts + 1 });
  }
  return { unhealthy, unhealed, finished, waiting, requeueAt };
}

/** When a refused deletion may be retried; 0 if none was refused. */
const againAt = ({ rules }: HealingView, { end, at, refusals = 1 }: FinishedCycle): number =>
  end === 'Refused' ? Date.parse(at) + healingBackoffMs(rules.backoff, refusals, 0) : 0;
