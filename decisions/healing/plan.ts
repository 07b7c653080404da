import { countOf } from '../../api/int-or-percent.ts';
import { withDefaults } from '../../api/pool-defaults.ts';
import { isReady, isActive } from '../disruption-budget/availability.ts';
import { shortened } from '../lib/bounded-message.ts';
import { byNumber } from '../lib/names.ts';
import { earlier } from '../lib/times.ts';
import { numberOf } from '../pool/vm-names.ts';
import type { VmView } from '../views/vm.ts';
import { fadesAt, healingDelayMs } from './backoff.ts';
import { proofOf, startToNote } from './proof.ts';
import { endedEarly, healthOf, isLeftAlone, isNextAfter, isAvailable, availableAt } from './sickness.ts';
import {
  carried,
  cycleOf,
  isFinal,
  remembered,
  formatReplacements,
  inProgress,
  WHY_LENGTH,
  withVerdicts,
  type Cycle,
  type EarlyEnds,
  type Failing,
  type VmiPause,
  type HealingState,
  type Hold,
  type SickVm,
  type FinishedCycle,
  type ToldVerdict,
} from './state.ts';
import { judge } from './verdicts.ts';
import { cycleRules, hasProven, holdsData, surplusOf, type HealingInput, type HealingView } from './view.ts';

export interface HealingPlan {
  begin: SickVm[];
  verdicts: ToldVerdict[];
  /** VMs whose cycles have been silent for long: their workflows may no longer exist. */
  ask: string[];
  /** Notes to write on VMs. */
  mark: RunNote[];
  state: HealingState;
  /** Why no more VMs are removed; null if they may be. */
  suspended: string | null;
  /** Sick VMs, each with what its healing waits for, in words. */
  waits: string[];
  /** VMs that are not ready but not sick either, each with the reason, in words. */
  spared: string[];
  wakeAt: number | null;
}

/**
 * A note to write on a VM. `start`: UID of the newest VMI, if no VMI of the VM has run up to and including it; null
 * once the VM has run well.
 */
export interface RunNote {
  name: string;
  uid: string;
  /** The version in which the VM was seen to belong to the pool; absent in older histories. */
  resourceVersion?: string;
  start: string | null;
}

/** A cycle reports at each of its steps; what it waits for in between may take this long. */
const SILENCE_MS = 10 * 60_000;
/** After how long a note that could not be written is retried. */
const MARK_AGAIN_MS = 60_000;
const WAITS_TOLD = 20;
/** The most cycles per pool, and per turn: the workflow's knowledge of them is in its history at every turn. */
const MOST_CYCLES = 100;
const BEGUN_AT_ONCE = 50;

/**
 * Plans which VMs to replace, and which verdicts to send to the cycles in progress. Ends all cycles if the pool does
 * not heal.
 */
export function planHealing(input: HealingInput): HealingPlan {
  const { pool, now, burst } = input;
  const { autohealing: rules, rollout } = withDefaults(pool.spec);
  if (rules === null || pool.metadata.deletionTimestamp !== undefined)
    return healsNoMore(input.state, rules === null ? 'the pool heals no more' : 'the pool is deleted');
  const view: HealingView = {
    ...input,
    rules,
    minReadyMs: rollout.minReadySeconds * 1000,
    patienceMs: rollout.progressDeadlineSeconds * 1000,
  };
  const remembering = remember(view);
  const { verdicts, wakeAt: nextVerdict } = judge(view, remembering);
  const told = withVerdicts(remembering, verdicts);
  const found = findSick(view, told);
  const suspended = breaker(view, found.sick.length + inProgress(told.cycles).length);
  const hold: Hold = told.paused !== undefined ? 'All' : suspended === null ? 'None' : 'Removals';
  const why = hold === 'All' ? 'healing is paused' : suspended === null ? null : 'too many are sick';
  const room = why === null ? roomFor(view, told) : { count: 0, full: why };
  const begin = found.sick.slice(0, room.count);
  const waits = [
    ...found.waits,
    ...found.sick.slice(room.count).map(({ name, why: words }) => `${name} is sick (${words}): ${room.full}`),
  ];
  const asked = ask(view, verdicts, { ...told, spent: found.spent, hold });
  const mark = notesOf(view);
  const markAgain = mark.length === 0 ? null : now + MARK_AGAIN_MS;
  return {
    begin,
    verdicts,
    ask: asked.names,
    mark: inTurn(mark, burst, now),
    state: carried({ ...asked.state, cycles: [...asked.state.cycles, ...begin.map((vm) => cycleOf(vm, now))] }),
    suspended,
    waits: shortened(waits, WAITS_TOLD),
    spared: shortened(found.spared, WAITS_TOLD),
    wakeAt: [
      nextVerdict,
      found.wakeAt,
      asked.wakeAt,
      nextFading(view, found.spent),
      nextAvailable(view, found.spent),
      markAgain,
    ].reduce(earlier, null),
  };
}

/** Notes still to be written on VMs. Starts are not noted if the pool sets preserveStorage. */
function notesOf(view: HealingView): RunNote[] {
  const { vms, vmiOf, witnessOf, rules, minReadyMs, now } = view;
  const notes: RunNote[] = [];
  for (const vm of vms) {
    const { name, uid, resourceVersion } = vm;
    if (!isActive(vm) || vm.notYetRun === null) continue;
    const vmi = vmiOf(vm);
    if (isAvailable(vm, vmi, minReadyMs, now)) notes.push({ name, uid, resourceVersion, start: null });
    else if (
      rules.preserveStorage === null &&
      proofOf({ vm, vmi, witness: witnessOf(vm), minReadyMs, now }) === 'proven'
    ) {
      const start = startToNote({ vm, vmi });
      if (start !== null) notes.push({ name, uid, resourceVersion, start });
    }
  }
  return notes.toSorted((one, other) => byNumber(one.name, other.name));
}

/**
 * At most `most` notes at a time, each minute beginning with others, so that notes which are refused again and again
 * don't hold up the rest.
 */
function inTurn(notes: readonly RunNote[], most: number, now: number): RunNote[] {
  if (notes.length <= most) return [...notes];
  const from = (Math.floor(now / MARK_AGAIN_MS) * most) % notes.length;
  return [...notes.slice(from), ...notes.slice(0, from)].slice(0, most);
}

function healsNoMore(state: HealingState, why: string): HealingPlan {
  const verdicts = inProgress(state.cycles).map(({ vm }) => ({ vm, verdict: 'Left' as const, why }));
  const left = withVerdicts({ ...state, earlyEnds: [] }, verdicts);
  return { begin: [], verdicts, ask: [], mark: [], state: left, suspended: null, waits: [], spared: [], wakeAt: null };
}

/** Forgets cycles that have faded, deleted VMs, and failures of VMs that run well again. */
function remember(view: HealingView): HealingState {
  const { vms, vmiOf, state, rules, minReadyMs, now } = view;
  const known = new Map(state.earlyEnds.map((ends) => [ends.vmUid, ends]));
  const failedBefore = new Map(state.failing?.map(({ vmUid, since }) => [vmUid, since]));
  const pausedBefore = new Map(state.vmiPauses?.map((pause) => [pause.vmUid, pause]));
  const failing: Failing[] = [];
  const vmiPauses: VmiPause[] = [];
  const earlyEnds: EarlyEnds[] = [];
  const uids = new Map<string, VmView>();
  for (const vm of vms) {
    uids.set(vm.uid, vm);
    if (isAvailable(vm, vmiOf(vm), minReadyMs, now)) continue;
    const before = pausedBefore.get(vm.uid);
    if (vmiOf(vm)?.paused === true) vmiPauses.push({ vmUid: vm.uid, endedAt: null });
    else if (before !== undefined && !isReady(vm, vmiOf(vm)))
      vmiPauses.push({ ...before, endedAt: before.endedAt ?? now });
    const ends = earlyEndsOf(view, vm, known.get(vm.uid));
    if (ends.count > 0) earlyEnds.push(ends);
    const fails = vm.startFailures + ends.count > 0 && rules.minFailingToStartDuration !== null;
    if (fails) failing.push({ vmUid: vm.uid, since: failedBefore.get(vm.uid) ?? vm.notReadySince ?? now });
  }
  const spent: FinishedCycle[] = [];
  for (const known of state.spent) {
    const one = ofNext(known, vms);
    const vm = uids.get(one.uid);
    if (isFinal(one) && vm !== undefined) {
      const isWell = isAvailable(vm, vmiOf(vm), minReadyMs, now);
      spent.push(isWell ? { ...one, end: 'Healed', why: 'it runs well again', at: new Date(now).toISOString() } : one);
    } else if (fadesAt(Date.parse(one.at), rules.backoff) > now) spent.push(one);
  }
  return { ...state, spent, earlyEnds, failing, vmiPauses };
}

/** If a person skips a VM that is already deleted, the skip applies to its replacement. */
function ofNext(spent: FinishedCycle, vms: readonly VmView[]): FinishedCycle {
  const next = spent.uid === '' && isFinal(spent) ? vms.find((vm) => vm.name === spent.vm && isActive(vm)) : undefined;
  return next === undefined ? spent : { ...spent, uid: next.uid };
}

/** Adds the VMIs that have failed since to the known early ends. */
function earlyEndsOf(
  { failedVmisOf, vmiOf, rules, minReadyMs }: HealingView,
  vm: VmView,
  known: EarlyEnds | undefined,
): EarlyEnds {
  let ends: EarlyEnds = known ?? { vmUid: vm.uid, count: 0, vmis: [], endedAt: 0 };
  const vmi = vmiOf(vm);
  const vmis = vmi?.phase === 'Failed' ? [...failedVmisOf(vm), vmi] : failedVmisOf(vm);
  for (const failed of vmis) {
    const { uid, endedAt } = failed;
    if (endedAt === null || endedAt < ends.endedAt || ends.vmis.includes(uid)) continue;
    const isNext = isNextAfter(ends.endedAt, failed, minReadyMs);
    const count = endedEarly(failed, minReadyMs)
      ? Math.min((isNext ? ends.count : 0) + 1, rules.startupFailureThreshold)
      : 0;
    ends = { vmUid: vm.uid, count, vmis: endedAt === ends.endedAt ? [...ends.vmis, uid] : [uid], endedAt };
  }
  return ends;
}

/** In a small pool a percentage would mean one VM or none, but two that fail at once are no sign of a common cause. */
const LEAST_SHARE = 2;

/**
 * Returns why no more VMs may be removed if too many are sick or being replaced, else null. While no VM of the pool has
 * ever run, one is tried all the same.
 */
function breaker(view: HealingView, unhealthy: number): string | null {
  if (!hasProven(view)) return null;
  const { rules, pool } = view;
  const most = countOf(
    rules.maxUnhealthy,
    pool.spec.replicas,
    typeof rules.maxUnhealthy === 'number' ? 1 : LEAST_SHARE,
  );
  return unhealthy > most
    ? `${unhealthy} VMs are sick or being replaced, more than ${most} (${rules.maxUnhealthy}): the fault is hardly in each of them`
    : null;
}

/** How many more cycles may begin, and what holds back the next one. */
function roomFor(view: HealingView, state: HealingState): { count: number; full: string } {
  const { pool, vms, rules, burst } = view;
  const cycles = inProgress(state.cycles);
  const inCycles = new Set(cycles.map(({ vm }) => vm));
  const leaving = vms.filter((vm) => !isActive(vm) && !inCycles.has(vm.name)).length;
  const limits = [
    {
      count: Math.min(Math.min(burst, MOST_CYCLES) - leaving - cycles.length, BEGUN_AT_ONCE),
      full: 'others are in flight',
    },
  ];
  if (rules.maxConcurrent !== null)
    limits.push({
      count: countOf(rules.maxConcurrent, pool.spec.replicas, 1) - cycles.length,
      full: 'others are healed first',
    });
  // If no VM has ever run, the fault is probably common to all: only one is tried.
  if (!hasProven(view))
    limits.push({ count: 1 - cycles.length, full: 'no VM of the pool has run yet, and one is tried first' });
  const least = limits.reduce((one, other) => (other.count < one.count ? other : one));
  return { ...least, count: Math.max(least.count, 0) };
}

interface Found {
  sick: SickVm[];
  spent: FinishedCycle[];
  waits: string[];
  spared: string[];
  wakeAt: number | null;
}

/**
 * Finds sick VMs that nothing else is working on, in the order of their numbers, and puts into words which VMs are not
 * replaced, and why.
 */
function findSick(view: HealingView, state: HealingState): Found {
  const { pool, vms, vmiOf, lastTroubleOf, busy, rules, now } = view;
  const healing = new Set(state.cycles.map(({ vm }) => vm));
  const ends = new Map(state.earlyEnds.map(({ vmUid, count }) => [vmUid, count]));
  const failing = new Map(state.failing?.map((one) => [one.vmUid, one.since]));
  const pauses = new Map(state.vmiPauses?.map((one) => [one.vmUid, one.endedAt]));
  const all: { vm: VmView; sick: SickVm }[] = [];
  const spared: { name: string; why: string }[] = [];
  let wakeAt: number | null = null;
  for (const vm of vms) {
    const isForeign = numberOf(pool.metadata.name, vm.name) === null;
    if (
      !isActive(vm) ||
      isForeign ||
      healing.has(vm.name) ||
      busy.has(vm.name) ||
      (isLeftAlone(vm, vmiOf(vm)) && !vm.optedOut)
    )
      continue;
    const earlyEnds = ends.get(vm.uid) ?? 0;
    const since = failing.get(vm.uid) ?? null;
    const health = healthOf({
      vm,
      vmi: vmiOf(vm),
      lastTrouble: lastTroubleOf(vm),
      failingSince: since,
      pauseEndedAt: pauses.get(vm.uid) ?? null,
      earlyEnds,
      hasRun: vm.notYetRun === null,
      rules,
      now,
    });
    const { name, uid } = vm;
    const why = health.sick ? health.why.slice(0, WHY_LENGTH) : '';
    if (health.sick && vm.optedOut) spared.push({ name, why: `its owner asked that nothing disrupts it (${why})` });
    else if (health.sick)
      all.push({
        vm,
        sick: {
          name,
          uid,
          attempt: 1,
          why,
          rules: cycleRules(rules),
          holdsData: holdsData(view, vm),
          earlyEnds,
          failingSince: since,
        },
      });
    else wakeAt = earlier(wakeAt, health.at);
    if (!health.sick && health.spared !== undefined) spared.push({ name, why: health.spared });
  }
  const inWords = spared
    .toSorted((one, other) => byNumber(one.name, other.name))
    .map((one) => `${one.name} is not replaced: ${one.why}`);
  const found = replaceable(
    view,
    state,
    all.toSorted((one, other) => byNumber(one.vm.name, other.vm.name)),
  );
  return { ...found, spared: inWords, wakeAt: earlier(wakeAt, found.wakeAt) };
}

function replaceable(
  view: HealingView,
  state: HealingState,
  all: readonly { vm: VmView; sick: SickVm }[],
): Omit<Found, 'spared'> {
  const { unproven, rules, now } = view;
  const memory = new Map(state.spent.map((one) => [one.vm, one]));
  const sick: SickVm[] = [];
  const waits: string[] = [];
  let { spent } = state;
  let wakeAt: number | null = null;
  let again = 0;
  const hasTooMany = surplusOf(view, state) > 0;
  for (const { vm, sick: one } of all) {
    const { name, uid, why } = one;
    const wait = (reason: string): void => void waits.push(`${name} is sick (${why}): ${reason}`);
    const last = memory.get(name);
    const attempts = last?.attempts ?? 0;
    if (last !== undefined && last.uid === uid && isFinal(last))
      wait(
        last.end === 'GivenUp' ? `given up after ${formatReplacements(attempts)}` : 'a person wants it left as it is',
      );
    else if (last !== undefined && last.uid === uid && (again = againAt(view, last)) > now) {
      wakeAt = earlier(wakeAt, again);
      wait(`its deletion was refused (${last.why}), and is asked for again at ${new Date(again).toISOString()}`);
    } else if (vm.revision !== null && vm.revision === unproven)
      wait(`no VM has run revision ${unproven} yet, and its rollout decides`);
    else if (rules.maxAttempts !== null && attempts >= rules.maxAttempts) {
      const givenUp = `given up after ${formatReplacements(attempts)}`;
      spent = remembered(spent, {
        vm: name,
        uid,
        attempts,
        end: 'GivenUp',
        why: givenUp,
        at: new Date(now).toISOString(),
      });
      wait(givenUp);
    } else if (hasTooMany) wait('the pool has more VMs than it wants');
    else sick.push({ ...one, attempt: attempts + 1 });
  }
  return { sick, spent, waits, wakeAt };
}

/** When a refused deletion may be retried; 0 if none was refused. */
const againAt = ({ rules }: HealingView, { end, at, refusals = 1 }: FinishedCycle): number =>
  end === 'Refused' ? Date.parse(at) + healingDelayMs(rules.backoff, refusals, 0) : 0;

/**
 * Finds the cycles that have been silent for too long although the next step is theirs, and when the next cycle will
 * have been. If the next step is the pool's or a person's, it may take weeks: the cycle is told when it is done, and a
 * missing workflow shows then.
 */
function ask(
  { vms, now }: HealingView,
  verdicts: readonly ToldVerdict[],
  state: HealingState,
): { names: string[]; state: HealingState; wakeAt: number | null } {
  const told = new Set(verdicts.map(({ vm }) => vm));
  const active = new Set(vms.filter(isActive).map(({ uid }) => uid));
  const waits = ({ phase, uid }: Cycle): boolean =>
    state.hold === 'All' ||
    phase === 'Provisioning' ||
    (phase === 'Removing' && (state.hold === 'Removals' || !active.has(uid)));
  const silentAt = (cycle: Cycle): number => {
    const { heardAt, nextAt } = cycle;
    if (heardAt === undefined) return now;
    return waits(cycle) ? Infinity : Math.max(heardAt, nextAt === undefined ? 0 : Date.parse(nextAt)) + SILENCE_MS;
  };
  const heard = state.cycles.map((cycle) => (told.has(cycle.vm) ? { ...cycle, heardAt: now } : cycle));
  const names = heard.filter((cycle) => silentAt(cycle) <= now).map(({ vm }) => vm);
  const cycles = heard.map((cycle) => (silentAt(cycle) <= now ? { ...cycle, heardAt: now } : cycle));
  const next = Math.min(...cycles.map(silentAt));
  return { names, state: { ...state, cycles }, wakeAt: next === Infinity ? null : next };
}

/** When the next ended cycle is forgotten. Final ends are kept as long as their VMs exist. */
function nextFading({ vms, rules, now }: HealingView, spent: readonly FinishedCycle[]): number | null {
  const uids = new Set(vms.map(({ uid }) => uid));
  const times = spent
    .filter((one) => !isFinal(one) || !uids.has(one.uid))
    .map(({ at }) => fadesAt(Date.parse(at), rules.backoff));
  return times.filter((at) => at > now).reduce<number | null>(earlier, null);
}

/**
 * When the next VM that is to be noted, or to be healed again when it fails, will run well: no event announces that.
 */
function nextAvailable({ vms, vmiOf, minReadyMs, now }: HealingView, spent: readonly FinishedCycle[]): number | null {
  const settled = new Set(spent.filter(isFinal).map(({ uid }) => uid));
  const unnoted = vms.filter((vm) => isActive(vm) && (vm.notYetRun !== null || settled.has(vm.uid)));
  const times = unnoted.map((vm) => availableAt(vm, vmiOf(vm), minReadyMs, now));
  return times.filter((at) => at !== null && at > now).reduce<number | null>(earlier, null);
}
