import type { HealingRules } from '../../api/pool-defaults.ts';
import type { HealingStatus } from '../../api/pool/pool.ts';

/** What cycles must hold back: removals, or everything. */
export type Hold = 'None' | 'Removals' | 'All';

/** A cycle as its pool's workflow knows it. */
export type Cycle = HealingStatus['cycles'][number] & {
  /**
   * When the cycle last reported, or was sent a verdict or asked, in milliseconds since the epoch; absent if it is
   * known only from the status.
   */
  heardAt?: number;
};
export type FinishedCycle = HealingStatus['finished'][number];

/** Consecutive VMIs of one VM that ended before they ran well. */
export interface EarlyEnds {
  vmUid: string;
  count: number;
  /** UIDs of the VMIs that ended at `endedAt`. */
  vmis: string[];
  /** When the last VMI ended; milliseconds since the epoch. */
  endedAt: number;
}

/** A VM whose starts fail. KubeVirt's own time is reset by each start. */
export interface Failing {
  vmUid: string;
  /** Milliseconds since the epoch. */
  since: number;
}

/** A VMI that a person has paused, kept until it is ready again: a VM is not sick for the time of the pause. */
export interface VmiPause {
  vmUid: string;
  /** When the pause was first seen to be over; milliseconds since the epoch, null while it lasts. */
  endedAt: number | null;
}

/** What a pool's workflow knows of its healing. */
export interface HealingState extends Omit<HealingStatus, 'cycles' | 'notReplaced' | 'notListed'> {
  cycles: Cycle[];
  earlyEnds: EarlyEnds[];
  /** Kept only if the pool sets minFailingToStartDuration. */
  failing: Failing[];
  vmiPauses: VmiPause[];
  /** The hold that the cycles were last told. */
  hold: Hold;
}

export const noHealing: HealingState = {
  cycles: [],
  finished: [],
  earlyEnds: [],
  failing: [],
  vmiPauses: [],
  hold: 'None',
};

/** Returns what a new workflow of the pool knows: what the status says. */
export function stateFrom(status: HealingStatus | undefined): HealingState {
  if (status === undefined) return noHealing;
  const { notReplaced: _notReplaced, notListed: _notListed, ...known } = status;
  return { ...noHealing, ...known };
}

/** The rules that a cycle follows; all others concern the pool alone. */
export type CycleRules = Pick<HealingRules, 'backoff' | 'maxAttempts'>;

/** A VM that is to be replaced. */
export interface SickVm {
  name: string;
  uid: string;
  /** Which replacement of the VM this will be; from 1. */
  attempt: number;
  why: string;
  rules: CycleRules;
  /** The VM has run well, or may have: its disks hold data. */
  holdsData: boolean;
  /** How many of its VMIs in a row ended before they ran well. */
  earlyEnds: number;
  /**
   * Since when its starts have been failing, in milliseconds since the epoch; null or absent if only KubeVirt's own
   * time is known.
   */
  failingSince?: number | null;
  /** How many VMs of this cycle in a row were tried on the disks that the VM has. */
  onSameDisks?: number;
}

/**
 * What the pool tells the cycle of a VM. A late verdict is recognized by `attempt` and `uid` (of the VM that it is
 * about).
 */
export type Verdict =
  /** The deleted VM is gone, with its disks. */
  | { verdict: 'Gone'; attempt: number; rules: CycleRules }
  /** The VM runs well: the new VM, or the sick VM before its deletion. */
  | { verdict: 'Well'; attempt: number; uid: string }
  /** The new VM is sick too. */
  | ({ verdict: 'Sick' } & Omit<SickVm, 'name'>)
  /** The VM is no longer to be healed. */
  | { verdict: 'Left'; why: string };

export type ToldVerdict = { vm: string } & Verdict;

/** What a cycle tells its pool; `pool` is the pool's UID. */
export type CycleNews = { vm: string; pool: string; attempt: number; uid: string; why: string } & (
  | { news: 'Stands'; phase: 'Removing' | 'Provisioning' }
  /** `nextAt`: RFC 3339. */
  | { news: 'Stands'; phase: 'Waiting'; nextAt: string }
  /** `attempt`: how many replacements were made. */
  | { news: 'Ended'; end: FinishedCycle['end'] }
);

const FINISHED_KEPT = 100;
/**
 * A pool's workflow carries its state from turn to turn, so that must stay small, whatever KubeVirt says and however
 * many VMs there are.
 */
export const WHY_LENGTH = 128;
const VMS_CARRIED = 50;

export const inProgress = <C extends { phase: Cycle['phase'] }>(cycles: readonly C[]): C[] =>
  cycles.filter(({ phase }) => phase !== 'Ending');

const namesIn = (state: Pick<HealingStatus, 'cycles'>, ...phases: Cycle['phase'][]): string[] =>
  state.cycles.filter(({ phase }) => phases.includes(phase)).map(({ vm }) => vm);

/** Names that cycles hold back: no VM may be created under them until the delay is over. */
export const heldBack = (state: Pick<HealingStatus, 'cycles'>): string[] => namesIn(state, 'Removing', 'Waiting');
/** Names under which new VMs are to be created. */
export const toBeMade = (state: Pick<HealingStatus, 'cycles'>): string[] => namesIn(state, 'Provisioning');

export const cycleOf = ({ name, uid, attempt, why }: SickVm, now: number): Cycle => ({
  vm: name,
  uid,
  attempt,
  phase: 'Removing',
  why: why.slice(0, WHY_LENGTH),
  startedAt: at(now),
  heardAt: now,
});

/** Returns the state after these verdicts. */
export function withVerdicts(state: HealingState, verdicts: readonly ToldVerdict[]): HealingState {
  const byVm = new Map(verdicts.map((verdict) => [verdict.vm, verdict]));
  return { ...state, cycles: state.cycles.map((cycle) => after(cycle, byVm.get(cycle.vm))) };
}

function after(cycle: Cycle, verdict: Verdict | undefined): Cycle {
  const { nextAt: _nextAt, ...rest } = cycle;
  switch (verdict?.verdict) {
    case undefined:
      return cycle;
    case 'Gone':
      return { ...rest, phase: 'Waiting' };
    case 'Sick':
      return {
        ...rest,
        phase: 'Removing',
        uid: verdict.uid,
        attempt: verdict.attempt,
        why: verdict.why.slice(0, WHY_LENGTH),
      };
    case 'Well':
    case 'Left':
      return { ...rest, phase: 'Ending' };
  }
}

/** Returns the state with what a cycle reports of itself: the cycle knows best. */
export function withNews(state: HealingState, news: CycleNews, now: number): HealingState {
  const known = state.cycles.find(({ vm }) => vm === news.vm);
  if (news.news === 'Ended') {
    const { vm, uid, attempt: attempts, end, why } = news;
    const last = state.finished.find((one) => one.vm === vm && one.uid === uid);
    const refusals = end === 'Refused' ? { refusals: (last?.refusals ?? 0) + 1 } : {};
    return {
      ...state,
      cycles: state.cycles.filter((cycle) => cycle !== known),
      finished: remembered(state.finished, { vm, uid, attempts, ...refusals, end, why, at: at(now) }),
    };
  }
  const { vm, uid, attempt, phase, why } = news;
  const startedAt = known?.startedAt ?? at(now);
  const cycle: Cycle = {
    vm,
    uid,
    attempt,
    phase,
    why: why.slice(0, WHY_LENGTH),
    startedAt,
    heardAt: now,
    ...(news.phase === 'Waiting' ? { nextAt: news.nextAt } : {}),
  };
  return {
    ...state,
    cycles: known === undefined ? [...state.cycles, cycle] : state.cycles.map((one) => (one === known ? cycle : one)),
  };
}

/** Identifies the VM's cycle by its start: an ended cycle may be followed by another right away. */
export const beginningOf = (state: HealingState | null, vm: string): string | undefined =>
  state?.cycles.find((cycle) => cycle.vm === vm)?.startedAt;

/** Removes a cycle that could not be started: it has made no replacement, so nothing of it counts. */
export const withoutBeginning = (state: HealingState, vm: string, startedAt: string | undefined): HealingState => ({
  ...state,
  cycles: state.cycles.filter((cycle) => cycle.vm !== vm || cycle.startedAt !== startedAt),
});

/**
 * Removes a cycle whose workflow no longer exists and whose end is unknown; the VM's next cycle continues its count of
 * attempts.
 */
export function withoutCycle(
  state: HealingState,
  vm: string,
  startedAt: string | undefined,
  now: number,
): HealingState {
  const lost = state.cycles.find((cycle) => cycle.vm === vm && cycle.startedAt === startedAt);
  if (lost === undefined) return state;
  const { uid, attempt } = lost;
  const why = 'its workflow was ended from outside';
  return {
    ...withoutBeginning(state, vm, startedAt),
    finished: remembered(state.finished, { vm, uid, attempts: attempt, end: 'Left', why, at: at(now) }),
  };
}

/** Allows healing a VM again that was given up or skipped; its attempts are counted from the start. */
export const unblocked = (state: HealingState, vm: string): HealingState => ({
  ...state,
  finished: state.finished.filter((one) => one.vm !== vm || !isFinal(one)),
});

/** True for an end after which the VM is left as it is, for as long as the same VM exists and is sick. */
export const isFinal = ({ end }: FinishedCycle): boolean => end === 'GivenUp' || end === 'Skipped';

/** True for a VM that healing leaves as it is until a person intervenes. */
export const isGivenUp = ({ finished }: HealingState, { name, uid }: { name: string; uid: string }): boolean =>
  finished.some((one) => one.vm === name && one.uid === uid && isFinal(one));

/**
 * Keeps the newest ended cycle of each VM. If there are too many, drops those first that are not final: they only
 * lengthen a delay.
 */
export function remembered(finished: readonly FinishedCycle[], newest: FinishedCycle): FinishedCycle[] {
  const all = [...finished.filter(({ vm }) => vm !== newest.vm), { ...newest, why: newest.why.slice(0, WHY_LENGTH) }];
  while (all.length > FINISHED_KEPT)
    all.splice(
      Math.max(
        all.findIndex((one) => !isFinal(one)),
        0,
      ),
      1,
    );
  return all;
}

/**
 * The state handed to the next turn. If many VMs fail, it holds only those that are closest to being replaced; workers
 * remember the others.
 */
export function carried(state: HealingState): HealingState {
  const { earlyEnds, failing, vmiPauses } = state;
  return {
    ...state,
    earlyEnds: few(earlyEnds, (one, other) => other.count - one.count),
    failing: few(failing, (one, other) => one.since - other.since),
    vmiPauses: few(vmiPauses, () => 0),
  };
}

/** The first VMS_CARRIED entries in the order `first`, sorted by UID so that the result is deterministic. */
const few = <T extends { vmUid: string }>(all: readonly T[], first: (one: T, other: T) => number): T[] =>
  all
    .toSorted((one, other) => first(one, other) || byVmUid(one, other))
    .slice(0, VMS_CARRIED)
    .toSorted(byVmUid);

const byVmUid = (one: { vmUid: string }, other: { vmUid: string }): number => (one.vmUid < other.vmUid ? -1 : 1);

/** `1 replacement`, `2 replacements`. */
export const formatReplacements = (count: number): string => `${count} ${count === 1 ? 'replacement' : 'replacements'}`;

export const pauseEndedAt = ({ vmiPauses }: Pick<HealingState, 'vmiPauses'>, vmUid: string): number | null =>
  vmiPauses.find((one) => one.vmUid === vmUid)?.endedAt ?? null;

export const failingSince = ({ failing }: Pick<HealingState, 'failing'>, vmUid: string): number | null =>
  failing.find((one) => one.vmUid === vmUid)?.since ?? null;

const at = (now: number): string => new Date(now).toISOString();
