import { isMeantToRun, isActive, liveVmi } from '../disruption-budget/availability.ts';
import {
  keyOf,
  RestartBudget,
  type Chosen,
  type OwningPool,
  type RestartSnapshot,
} from '../disruption-budget/restart-budget.ts';
import { formatNames } from '../lib/names.ts';
import { revisionOf } from '../revisions/hash.ts';
import { inShort, SkippedVms, type Skipped } from '../runs/skipped.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';
import { untouchable } from '../vm-update/need.ts';
import { progressOfRestart } from '../vm-update/progress.ts';

/** Most VMs in progress at once, whatever the budget: keeps reports about them short. */
export const MOST_IN_HAND = 250;
/** How many full budgets are reported: each of thousands of VMs may belong to a pool of its own. */
const FULL_TOLD = 40;

/** A VM in progress: from before its VMI is restarted until its new VMI is ready. */
export interface RestartInProgress {
  /** `namespace/name`. */
  vm: string;
  /** Of the VM that was chosen: a later one of its name is another VM. */
  uid: string;
  /** The VM should have run but was not ready beforehand: its outcome says nothing about the restart. */
  wasDown: boolean;
  /** Milliseconds since the epoch. */
  takenAt: number;
}

/** How the restart ended for one VM. */
export interface RestartOutcome {
  vm: string;
  end:
    | 'Restarted'
    /** Not ready in time, or KubeVirt refused to restart it. */
    | 'Failed'
    /** Deleted or stopped by somebody meanwhile. */
    | 'Gone'
    /** Given back untouched: the disruption budget was used up, or the VM can't be touched now. */
    | 'Deferred';
  why?: string;
}

export interface RestartPlanInput {
  /** UIDs of the VMIs to restart, including those of VMs in progress. */
  chosen: Chosen;
  /** VMs that count against `maxUnavailable`, by `namespace/name`; all chosen VMs if absent. */
  counted?: Iterable<string>;
  snapshot: RestartSnapshot;
  inProgress: readonly RestartInProgress[];
  /** VMs not to be tried again, by `namespace/name`. */
  failed: ReadonlySet<string>;
  maxUnavailable: number;
  /** How long a VM may take to become ready again. */
  deadlineMs: number;
  /** Whether more VMs may be taken. */
  takes: boolean;
  /** A further check of a new VMI that is ready; none if absent. */
  verify?: (vm: VmView, live: VmiView) => Verdict;
  /** Milliseconds since the epoch. */
  now: number;
}

export type Verdict = { is: 'well' } | { is: 'unknown'; waitsFor: string } | { is: 'wrong'; why: string };

export interface RestartPlan {
  /** Outcomes of VMs in progress. */
  settled: RestartOutcome[];
  take: Omit<RestartInProgress, 'takenAt'>[];
  /**
   * How many VMs still have to be restarted and are not in progress. Includes those in `take`, excludes opted-out VMs.
   */
  open: number;
  skipped: Skipped[];
  /** Which budgets are full, so that VMs wait; a few words each. */
  full: string[];
  /** When the passing of time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
}

/** What one chosen VM needs. */
export type RestartNeed =
  | { need: 'nothing' }
  | { need: 'restart'; vmi: VmiView }
  | { need: 'later'; why: string }
  | { need: 'left'; why: string };

/**
 * A VMI is restarted only once: if the VM has another VMI by now, or none, nothing is left to do, whoever did it.
 * `target` is the UID of the chosen VMI.
 */
export function restartNeed(
  target: string,
  vm: VmView | undefined,
  vmi: VmiView | undefined,
  owner: OwningPool | undefined,
): RestartNeed {
  const live = liveVmi(vmi);
  if (vm === undefined || live?.uid !== target || !isActive(vm) || !isMeantToRun(vm, live)) return { need: 'nothing' };
  const { why, isExcluded } = untouchable(vm, () => live) ?? {};
  if (why !== undefined) return { need: isExcluded === true ? 'left' : 'later', why };
  if (owner !== undefined && isRollingOut(owner))
    return { need: 'later', why: `its pool ${keyOf(owner.pool.metadata)} is rolling out` };
  // The next VMI would start from the spec that KubeVirt has observed.
  if (!vm.generationObserved) return { need: 'later', why: 'KubeVirt has not taken notice of its spec' };
  return { need: 'restart', vmi: live };
}

/** Computed once per pool, not once for each of its VMs. */
const rolling = new WeakMap<StoredPool, boolean>();

/**
 * A rollout restarts its VMs itself, so they would go down twice. A rollout that waits for a person, a step or a window
 * does not count.
 */
function isRollingOut({ pool }: OwningPool): boolean {
  const known = rolling.get(pool);
  if (known !== undefined) return known;
  const { spec, status } = pool;
  const reason = status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
  const found =
    status?.updateRevision !== revisionOf(poolTemplate(spec)) || reason === 'RollingOut' || reason === 'Undoing';
  rolling.set(pool, found);
  return found;
}

/** Settles the VMs in progress and picks the next ones: never more than the budgets allow. */
export function planRestarts(input: RestartPlanInput): RestartPlan {
  const { chosen, counted = chosen.keys(), snapshot, inProgress, maxUnavailable, now, deadlineMs } = input;
  const settled = inProgress.flatMap((held) => outcomeOf(held, input) ?? []);
  const ended = new Set(settled.map(({ vm }) => vm));
  const held = inProgress.filter(({ vm }) => !ended.has(vm));
  const holds = new Set(held.map(({ vm }) => vm));
  // The VMI may still be the chosen one: it is not tried again.
  const spent = settled.filter(({ end }) => end === 'Failed').map(({ vm }) => vm);
  const { free, open, skipped } = openVms(input, new Set([...holds, ...spent]));
  const budget = new RestartBudget({ counted, snapshot, inProgress: holds, maxUnavailable });
  const { take, full } = takeVms(input.takes ? inOrder(free, budget, chosen) : [], budget, MOST_IN_HAND - held.length);
  const deadlines = held.map(({ takenAt }) => takenAt + deadlineMs).filter((deadline) => deadline > now);
  const wakeAt = deadlines.length === 0 ? null : Math.min(...deadlines);
  return { settled, take, open, skipped, full, wakeAt };
}

/**
 * Returns the chosen VMs that may be taken, and counts those that are still to be restarted. `except` names VMs by
 * `namespace/name`.
 */
function openVms(
  { chosen, snapshot, failed }: RestartPlanInput,
  except: ReadonlySet<string>,
): Pick<RestartPlan, 'open' | 'skipped'> & { free: VmView[] } {
  const free: VmView[] = [];
  const skipped = new SkippedVms();
  let open = 0;
  for (const [key, target] of chosen) {
    if (except.has(key) || failed.has(key)) continue;
    const vm = snapshot.vmOf(key);
    const need = restartNeed(target, vm, vm && snapshot.vmiOf(vm), vm && snapshot.poolOf(vm));
    if (need.need === 'left' || need.need === 'later') skipped.add(key, need.why, need.need === 'left');
    if (need.need === 'later' || need.need === 'restart') open++;
    if (need.need === 'restart') free.push(vm!);
  }
  return { free, open, skipped: inShort(skipped.all) };
}

/** Takes at most `most` of these VMs within the budget, and says which budgets are full. */
function takeVms(ordered: readonly VmView[], budget: RestartBudget, most: number): Pick<RestartPlan, 'take' | 'full'> {
  const full = new Set<string>();
  const take: RestartPlan['take'] = [];
  for (const vm of ordered) {
    if (take.length >= most) break;
    const why = budget.whyNot(vm);
    if (why === null) {
      take.push({ vm: keyOf(vm), uid: vm.uid, wasDown: budget.counts(vm) });
      budget.take(vm);
    } else if (!full.has(why)) full.add(full.size < FULL_TOLD ? why : 'other pools are full too');
  }
  if (full.size > 0 && budget.downByThemselves.length > 0)
    full.add(`${formatNames(budget.downByThemselves)} not ready`);
  return { take, full: [...full] };
}

/**
 * Puts VMs that are already down first, which costs nothing more, and scatters the others, so that no application goes
 * down as a whole.
 */
function inOrder(free: readonly VmView[], budget: RestartBudget, chosen: Chosen): VmView[] {
  const rank = new Map(free.map((vm) => [vm, (budget.counts(vm) ? '0' : '1') + chosen.get(keyOf(vm))!]));
  return [...free].sort((one, other) => (rank.get(one)! < rank.get(other)! ? -1 : 1));
}

function outcomeOf(
  { vm: key, uid, takenAt }: RestartInProgress,
  { chosen, snapshot, now, deadlineMs, verify }: RestartPlanInput,
): RestartOutcome | null {
  const vm = snapshot.vmOf(key);
  if (vm === undefined || vm.uid !== uid || vm.deleting) return { vm: key, end: 'Gone', why: 'it was deleted' };
  const vmi = snapshot.vmiOf(vm);
  const isMeant = isMeantToRun(vm, vmi);
  // Asks the VM's own status too: the cached VMI may be older.
  const hasStopped = vmi === undefined ? !vm.hasVmi : isFinal(vmi) && !vmi.deleting;
  if (!isMeant && hasStopped) return { vm: key, end: 'Gone', why: 'it was stopped' };
  const standing = isMeant
    ? progressOfRestart({ vm, vmi, isNew: (live) => live.uid !== chosen.get(key), minReadyMs: 0, now })
    : ({ state: 'waiting', for: 'its VMI to stop' } as const);
  const live = standing.state === 'well' ? liveVmi(vmi) : undefined;
  const verdict: Verdict =
    standing.state === 'waiting'
      ? { is: 'unknown', waitsFor: standing.for }
      : ((live && verify?.(vm, live)) ?? { is: 'well' });
  if (verdict.is === 'well') return { vm: key, end: 'Restarted' };
  if (verdict.is === 'wrong') return { vm: key, end: 'Failed', why: verdict.why };
  return now < takenAt + deadlineMs
    ? null
    : { vm: key, end: 'Failed', why: `not ready in time: it waited for ${verdict.waitsFor}` };
}
