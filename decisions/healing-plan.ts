import { durationMs } from '../api/duration.ts';
import { countOf } from '../api/int-or-percent.ts';
import { withDefaults, type HealingRules } from '../api/pool-defaults.ts';
import type { HealingStatus } from '../api/pool.ts';
import { isStaying, type VmiOf } from './availability.ts';
import { fadesAt } from './healing-backoff.ts';
import { numberOf } from './naming.ts';
import { earlier, endedEarly, healthOf, runsWell } from './sickness.ts';
import type { StoredPool } from './vm-from-template.ts';
import type { VmView } from './vm.ts';

export type HealingCycle = HealingStatus['cycles'][number];

/** Guests of one VM that ended early, in a row. */
export interface EarlyEnds {
  vmUid: string;
  /** UIDs of their VMIs. */
  vmis: string[];
}

/** What a pool's workflow knows of its healing. */
export interface HealingState extends HealingStatus {
  earlyEnds: EarlyEnds[];
}

export interface HealingInput {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  state: HealingState;
  /** VMs in other hands, by name. */
  busy: ReadonlySet<string>;
  /** A revision that no VM has run well of: its failures are the rollout's to judge. */
  unproven: string | null;
  /** VMs that the pool has too many, those being replaced included: their cycles end first. */
  excess: number;
  burst: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What the pool tells the cycle of a VM. */
export type Verdict =
  /** The VM that was deleted is gone, with its disks. */
  | { verdict: 'Gone' }
  | { verdict: 'Well' }
  /** The new VM is sick as well: the next attempt. `uid` is the VM's. */
  | { verdict: 'Sick'; uid: string; why: string }
  /** It is not to be healed any more. */
  | { verdict: 'Left'; why: string };

/** What a cycle goes by. */
export type CycleRules = Pick<HealingRules, 'backoff' | 'maxAttempts' | 'preserveStorage'>;

export interface SickVm {
  name: string;
  uid: string;
  attempt: number;
  why: string;
  rules: CycleRules;
}

export interface HealingPlan {
  begin: SickVm[];
  verdicts: ({ vm: string } & Verdict)[];
  /** VMs that run well for the first time, to be marked so. */
  mark: { name: string; uid: string }[];
  state: HealingState;
  /** Why no cycle goes on; null where they may. */
  suspended: string | null;
  /** VMs that are sick, or are being replaced. */
  unhealthy: number;
  /** VMs that are sick, each with what its healing waits for, in words. */
  waits: string[];
  wakeAt: number | null;
}

export const noHealing: HealingState = { cycles: [], spent: [], earlyEnds: [] };

/** Which VMs to replace, and what to tell those whose cycle is under way. Empty where the pool does not heal. */
export function planHealing(input: HealingInput): HealingPlan {
  const { pool, state, now } = input;
  const { autohealing: rules, rollout, replicas } = withDefaults(pool.spec);
  const idle: HealingPlan = { begin: [], verdicts: [], mark: [], state, suspended: null, unhealthy: 0, waits: [], wakeAt: null };
  if (rules === null || pool.metadata.deletionTimestamp !== undefined) {
    const why = rules === null ? 'the pool heals no more' : 'the pool is deleted';
    const verdicts = underWay(state.cycles).map(({ vm }) => ({ vm, verdict: 'Left' as const, why }));
    return { ...idle, verdicts, state: ending(state, verdicts) };
  }
  const minReadyMs = rollout.minReadySeconds * 1000;
  const remembered = remember(input, rules, minReadyMs);
  const { verdicts, wakeAt: nextVerdict } = judge(input, rules, remembered, minReadyMs);
  const told = ending(remembered, verdicts);
  const { sick, wakeAt: nextSick } = findSick(input, rules, told);
  const unhealthy = sick.length + underWay(told.cycles).length;
  const most = countOf(rules.maxUnhealthy, replicas, 1);
  const suspended = unhealthy > most ? `${unhealthy} VMs are unhealthy, more than ${most}: the fault is hardly in each of them` : null;
  const cap = Math.min(rules.maxConcurrent === null ? Infinity : countOf(rules.maxConcurrent, replicas, 1), input.burst);
  const room = told.paused !== undefined || suspended !== null ? 0 : Math.max(cap - underWay(told.cycles).length, 0);
  const begin = sick.slice(0, room);
  const waits = sick.slice(room).map(({ name, why }) => `${name} is sick (${why})`);
  const fading = told.spent.map(({ at }) => fadesAt(Date.parse(at), rules.backoff)).filter((at) => at > now);
  const wakeAt = [nextVerdict, nextSick, fading.length === 0 ? null : Math.min(...fading)].reduce(earlier, null);
  const cycles = [...told.cycles, ...begin.map((vm) => cycleOf(vm, now))];
  return { begin, verdicts, mark: unmarked(input, minReadyMs), state: { ...told, cycles }, suspended, unhealthy, waits, wakeAt };
}

/** Names that a cycle holds while there is no VM of it: none may be made before its delay is over. */
export const heldBack = ({ cycles }: HealingStatus): string[] =>
  cycles.filter(({ phase }) => phase === 'Removing' || phase === 'Waiting').map(({ vm }) => vm);

export const underWay = (cycles: readonly HealingCycle[]): HealingCycle[] => cycles.filter(({ phase }) => phase !== 'Ending');

const cycleOf = ({ name, uid, attempt, why }: SickVm, now: number): HealingCycle => ({
  vm: name,
  uid,
  attempt,
  phase: 'Removing',
  why: why.slice(0, 1024),
  startedAt: new Date(now).toISOString(),
});

/** Forgets what has faded, what concerns VMs that are no more, and failures of guests that run well again. */
function remember({ vms, vmiOf, state, now }: HealingInput, rules: HealingRules, minReadyMs: number): HealingState {
  const ends = new Map(state.earlyEnds.map(({ vmUid, vmis }) => [vmUid, vmis]));
  const earlyEnds: EarlyEnds[] = [];
  for (const vm of vms) {
    const vmi = vmiOf(vm);
    const known = ends.get(vm.uid) ?? [];
    if (runsWell(vm, vmi, minReadyMs, now)) continue;
    const vmis = vmi !== undefined && endedEarly(vmi) && !known.includes(vmi.uid) ? [...known, vmi.uid].slice(-ENDS_KEPT) : known;
    if (vmis.length > 0) earlyEnds.push({ vmUid: vm.uid, vmis });
  }
  const cycles = state.cycles.map((cycle): HealingCycle => (isOverdue(cycle, rules, now) ? { ...cycle, phase: 'Provisioning' } : cycle));
  return { ...state, cycles, earlyEnds, spent: state.spent.filter(({ at }) => fadesAt(Date.parse(at), rules.backoff) > now) };
}

const ENDS_KEPT = 20;

/** The news that a delay is over was lost, with the workflow that it was for. */
function isOverdue({ phase, nextAt, startedAt }: HealingCycle, { backoff }: HealingRules, now: number): boolean {
  const due = nextAt === undefined ? Date.parse(startedAt) + 2 * durationMs(backoff.max) : Date.parse(nextAt);
  return phase === 'Waiting' && due + NEWS_LOST_MS < now;
}

const NEWS_LOST_MS = 60_000;

function judge(
  { vms, vmiOf, excess, now }: HealingInput,
  rules: HealingRules,
  { cycles, earlyEnds }: HealingState,
  minReadyMs: number,
): { verdicts: HealingPlan['verdicts']; wakeAt: number | null } {
  const byName = new Map(vms.map((vm) => [vm.name, vm]));
  const verdicts: HealingPlan['verdicts'] = [];
  let wakeAt: number | null = null;
  let surplus = excess;
  for (const { vm: name, uid, phase } of cycles) {
    const vm = byName.get(name);
    if (phase === 'Removing' && vm?.uid !== uid) verdicts.push({ vm: name, verdict: 'Gone' });
    else if (phase === 'Waiting' && vm === undefined && surplus > 0) {
      surplus--;
      verdicts.push({ vm: name, verdict: 'Left', why: 'the pool needs fewer VMs now' });
    } else if (phase === 'Provisioning' && vm !== undefined && vm.uid !== uid) {
      if (!isStaying(vm)) verdicts.push({ vm: name, verdict: 'Left', why: 'it leaves the pool' });
      else if (vm.optedOut) verdicts.push({ vm: name, verdict: 'Left', why: 'its owner asked that nothing disrupts it' });
      else if (runsWell(vm, vmiOf(vm), minReadyMs, now)) verdicts.push({ vm: name, verdict: 'Well' });
      else {
        const health = healthOf(vm, vmiOf(vm), endsOf(earlyEnds, vm), rules, now);
        if (health.sick) verdicts.push({ vm: name, verdict: 'Sick', uid: vm.uid, why: health.why });
        else wakeAt = earlier(wakeAt, earlier(health.at, wellAt(vm, vmiOf, minReadyMs, now)));
      }
    } else if (phase === 'Provisioning' && vm === undefined && surplus > 0) {
      surplus--;
      verdicts.push({ vm: name, verdict: 'Left', why: 'the pool needs fewer VMs now' });
    }
  }
  return { verdicts, wakeAt };
}

/** When a guest that is ready has been so for long enough. */
function wellAt(vm: VmView, vmiOf: VmiOf, minReadyMs: number, now: number): number | null {
  const vmi = vmiOf(vm);
  if (vmi?.ready !== true) return null;
  const at = Math.max((vmi.readySince ?? now) + minReadyMs, (vmi.runningSince ?? now) + (vmi.probationMs ?? 0));
  return at > now ? at : null;
}

/** The cycles as they are once these verdicts are told. */
function ending(state: HealingState, verdicts: HealingPlan['verdicts']): HealingState {
  const byVm = new Map(verdicts.map((verdict) => [verdict.vm, verdict]));
  const cycles = state.cycles.map((cycle): HealingCycle => {
    const verdict = byVm.get(cycle.vm);
    if (verdict === undefined) return cycle;
    if (verdict.verdict === 'Gone') return { ...cycle, phase: 'Waiting' };
    if (verdict.verdict === 'Sick') {
      const { nextAt: _nextAt, ...rest } = cycle;
      return { ...rest, uid: verdict.uid, attempt: cycle.attempt + 1, phase: 'Removing', why: verdict.why.slice(0, 1024) };
    }
    return { ...cycle, phase: 'Ending' };
  });
  return { ...state, cycles };
}

function findSick(
  { vms, vmiOf, busy, unproven, now }: HealingInput,
  rules: HealingRules,
  { cycles, spent, earlyEnds }: HealingState,
): { sick: SickVm[]; wakeAt: number | null } {
  const { backoff, maxAttempts, preserveStorage } = rules;
  const healing = new Set(cycles.map(({ vm }) => vm));
  const memory = new Map(spent.map((one) => [one.vm, one]));
  const sick: SickVm[] = [];
  let wakeAt: number | null = null;
  for (const vm of vms) {
    if (!isStaying(vm) || healing.has(vm.name) || busy.has(vm.name) || isLeftAlone(vm, vmiOf)) continue;
    const health = healthOf(vm, vmiOf(vm), endsOf(earlyEnds, vm), rules, now);
    if (!health.sick) {
      wakeAt = earlier(wakeAt, health.at);
      continue;
    }
    if (vm.revision !== null && vm.revision === unproven) continue;
    const last = memory.get(vm.name);
    if (last?.uid === vm.uid && (last.end === 'GivenUp' || last.end === 'Skipped')) continue;
    sick.push({ name: vm.name, uid: vm.uid, attempt: (last?.attempts ?? 0) + 1, why: health.why, rules: { backoff, maxAttempts, preserveStorage } });
  }
  return { sick, wakeAt };
}

/** Its owner's wish, or a state in which KubeVirt works on it. */
function isLeftAlone(vm: VmView, vmiOf: VmiOf): boolean {
  const vmi = vmiOf(vm);
  const isForeign = vm.owner === null || numberOf(vm.owner.name, vm.name) === null;
  return isForeign || vm.optedOut || vm.snapshotting || vmi?.paused === true || vmi?.migrating === true;
}

const endsOf = (earlyEnds: readonly EarlyEnds[], vm: VmView): number => earlyEnds.find(({ vmUid }) => vmUid === vm.uid)?.vmis.length ?? 0;

function unmarked({ vms, vmiOf, now }: HealingInput, minReadyMs: number): HealingPlan['mark'] {
  const fresh = vms.filter((vm) => isStaying(vm) && !vm.hasRun && runsWell(vm, vmiOf(vm), minReadyMs, now));
  return fresh.map(({ name, uid }) => ({ name, uid }));
}
