import { withDefaults } from '../../api/pool-defaults.ts';
import { isActive } from '../disruption-budget/availability.ts';
import { byNumber } from '../lib/names.ts';
import { earlier } from '../lib/times.ts';
import { fadesAt } from './backoff.ts';
import { findSick, type NotReplaced } from './find-sick.ts';
import { breaker, roomFor } from './limits.ts';
import { proofOf, startToNote } from './proof.ts';
import { remember } from './remember.ts';
import { availableAt, isAvailable } from './sickness.ts';
import { ask } from './silence.ts';
import {
  carried,
  cycleOf,
  inProgress,
  isFinal,
  withVerdicts,
  type FinishedCycle,
  type HealingState,
  type Hold,
  type SickVm,
  type ToldVerdict,
} from './state.ts';
import { judge } from './verdicts.ts';
import type { HealingInput, HealingView } from './view.ts';

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
  /** VMs that are not ready and not replaced, those whose replacement waits first. */
  notReplaced: NotReplaced[];
  /** How many more of them there are. */
  notListed: number;
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

/** After how long a note that could not be written is retried. */
const MARK_AGAIN_MS = 60_000;
/** How many VMs that are not replaced are listed; the rest are counted. */
const MOST_LISTED = 50;

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
  const inLine = found.sick.slice(room.count).map((one) => ({ vm: one.name, why: one.why, waitsFor: room.full }));
  const notReplaced = [...found.waiting, ...inLine, ...found.exempt];
  const asked = ask(view, verdicts, { ...told, finished: found.finished, hold });
  const mark = notesOf(view);
  const markAgain = mark.length === 0 ? null : now + MARK_AGAIN_MS;
  return {
    begin,
    verdicts,
    ask: asked.names,
    mark: inTurn(mark, burst, now),
    state: carried({ ...asked.state, cycles: [...asked.state.cycles, ...begin.map((vm) => cycleOf(vm, now))] }),
    suspended,
    notReplaced: notReplaced.slice(0, MOST_LISTED),
    notListed: Math.max(notReplaced.length - MOST_LISTED, 0),
    wakeAt: [
      nextVerdict,
      found.wakeAt,
      asked.wakeAt,
      nextFading(view, found.finished),
      nextAvailable(view, found.finished),
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
  return {
    begin: [],
    verdicts,
    ask: [],
    mark: [],
    state: left,
    suspended: null,
    notReplaced: [],
    notListed: 0,
    wakeAt: null,
  };
}

/** When the next ended cycle is forgotten. Final ends are kept as long as their VMs exist. */
function nextFading({ vms, rules, now }: HealingView, finished: readonly FinishedCycle[]): number | null {
  const uids = new Set(vms.map(({ uid }) => uid));
  const times = finished
    .filter((one) => !isFinal(one) || !uids.has(one.uid))
    .map(({ at }) => fadesAt(Date.parse(at), rules.backoff));
  return times.filter((at) => at > now).reduce<number | null>(earlier, null);
}

/**
 * When the next VM that is to be noted, or to be healed again when it fails, will run well: no event announces that.
 */
function nextAvailable(
  { vms, vmiOf, minReadyMs, now }: HealingView,
  finished: readonly FinishedCycle[],
): number | null {
  const settled = new Set(finished.filter(isFinal).map(({ uid }) => uid));
  const unnoted = vms.filter((vm) => isActive(vm) && (vm.notYetRun !== null || settled.has(vm.uid)));
  const times = unnoted.map((vm) => availableAt(vm, vmiOf(vm), minReadyMs, now));
  return times.filter((at) => at !== null && at > now).reduce<number | null>(earlier, null);
}
