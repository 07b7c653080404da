import type { HealingRules } from '../../api/pool-defaults.ts';
import type { HealingStatus } from '../../api/pool/pool.ts';

/** What cycles may not do: nothing more may be removed, or nothing at all may be done. */
export type Hold = 'None' | 'Removals' | 'All';

/** A cycle as its pool knows it. */
export type Cycle = HealingStatus['cycles'][number] & {
  /**
   * When it last told of itself, or was told or asked something, in milliseconds since the epoch; absent where only the
   * status tells of it.
   */
  heardAt?: number;
};
export type Spent = HealingStatus['spent'][number];

/** Guests of one VM that ended before they ran well, in a row. */
export interface EarlyEnds {
  vmUid: string;
  count: number;
  /** UIDs of the VMIs of those that ended last. */
  vmis: string[];
  /** When the last one ended; milliseconds since the epoch. */
  endedAt: number;
}

/** A VM whose starts fail. KubeVirt's own time begins anew with each of them. */
export interface Failing {
  vmUid: string;
  /** Milliseconds since the epoch. */
  since: number;
}

/**
 * A guest that a person has paused, until it is ready again: it was not ready all that time, and is not sick for that.
 */
export interface GuestPause {
  vmUid: string;
  /** When it was first seen to be over; milliseconds since the epoch, null as long as it is not. */
  endedAt: number | null;
}

/** What a pool's workflow knows of its healing. */
export interface HealingState extends Omit<HealingStatus, 'cycles'> {
  cycles: Cycle[];
  earlyEnds: EarlyEnds[];
  /** Where the pool's rules ask for it; absent in what drover 0.2.0 carried over. */
  failing?: Failing[];
  /** Absent in what drover 0.2.0 carried over. */
  guestPauses?: GuestPause[];
  /** What the cycles were told last. */
  hold: Hold;
}

export const noHealing: HealingState = { cycles: [], spent: [], earlyEnds: [], hold: 'None' };

/** What a cycle goes by; the rest of the rules is the pool's. */
export type CycleRules = Pick<HealingRules, 'backoff' | 'maxAttempts'>;

/** A VM that is to be replaced. */
export interface SickVm {
  name: string;
  uid: string;
  /** Which replacement of the VM it will be; from 1. */
  attempt: number;
  why: string;
  rules: CycleRules;
  /** It has run well, or may have: its disks hold something. */
  holdsData: boolean;
  /** Guests of it in a row that ended before they ran well. */
  earlyEnds: number;
  /**
   * Since when its starts have been failing, in milliseconds since the epoch; null, or absent, where only KubeVirt
   * says.
   */
  failingSince?: number | null;
  /** How many VMs of this cycle in a row were tried on the disks that it has. */
  onSameDisks?: number;
}

/** What the pool tells the cycle of a VM. `attempt` and `uid` (of the VM that it is about) tell one that comes late. */
export type Verdict =
  /** The VM that was deleted is gone, with its disks. */
  | { verdict: 'Gone'; attempt: number; rules: CycleRules }
  /** It runs well: the new one, or the sick one before it was deleted. */
  | { verdict: 'Well'; attempt: number; uid: string }
  /** The new VM is sick as well. */
  | ({ verdict: 'Sick' } & Omit<SickVm, 'name'>)
  /** It is not to be healed any more. */
  | { verdict: 'Left'; why: string };

export type ToldVerdict = { vm: string } & Verdict;

/** What a cycle tells its pool; `pool` is the pool's UID. */
export type CycleNews = { vm: string; pool: string; attempt: number; uid: string; why: string } & (
  | { news: 'Stands'; phase: 'Removing' | 'Provisioning' }
  /** `nextAt`: RFC 3339. */
  | { news: 'Stands'; phase: 'Waiting'; nextAt: string }
  /** `attempt` of them have been made. */
  | { news: 'Ended'; end: Spent['end'] }
);

const SPENT_KEPT = 100;
/** What a pool's workflow carries from turn to turn must stay small, whatever KubeVirt says and of however many VMs. */
export const WHY_LENGTH = 128;
const VMS_CARRIED = 50;

export const underWay = <C extends { phase: Cycle['phase'] }>(cycles: readonly C[]): C[] =>
  cycles.filter(({ phase }) => phase !== 'Ending');

const namesIn = (state: Pick<HealingStatus, 'cycles'>, ...phases: Cycle['phase'][]): string[] =>
  state.cycles.filter(({ phase }) => phases.includes(phase)).map(({ vm }) => vm);

/** Names that a cycle holds while there is no VM of it: none may be made before its delay is over. */
export const heldBack = (state: Pick<HealingStatus, 'cycles'>): string[] => namesIn(state, 'Removing', 'Waiting');
/** Names that VMs are to be made under. */
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

/** The cycles as they are once these verdicts are told. */
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

/** Takes over what a cycle tells of itself: it knows best. */
export function withNews(state: HealingState, news: CycleNews, now: number): HealingState {
  const known = state.cycles.find(({ vm }) => vm === news.vm);
  if (news.news === 'Ended') {
    const { vm, uid, attempt: attempts, end, why } = news;
    const last = state.spent.find((one) => one.vm === vm && one.uid === uid);
    const refusals = end === 'Refused' ? { refusals: (last?.refusals ?? 0) + 1 } : {};
    return {
      ...state,
      cycles: state.cycles.filter((cycle) => cycle !== known),
      spent: remembered(state.spent, { vm, uid, attempts, ...refusals, end, why, at: at(now) }),
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

/** Which cycle of the VM it is: one that has ended may be followed by another right away. */
export const beginningOf = (state: HealingState | null, vm: string): string | undefined =>
  state?.cycles.find((cycle) => cycle.vm === vm)?.startedAt;

/** The cycle that was to begin then has not: it has made nothing, and nothing of it counts. */
export const withoutBeginning = (state: HealingState, vm: string, startedAt: string | undefined): HealingState => ({
  ...state,
  cycles: state.cycles.filter((cycle) => cycle.vm !== vm || cycle.startedAt !== startedAt),
});

/**
 * The workflow of the cycle that began then is no more, and nobody knows how it ended: what comes next for its VM goes
 * on where it was.
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
    spent: remembered(state.spent, { vm, uid, attempts: attempt, end: 'Left', why, at: at(now) }),
  };
}

/** A person wants a VM healed again that was given up or skipped: its attempts are counted anew. */
export const unblocked = (state: HealingState, vm: string): HealingState => ({
  ...state,
  spent: state.spent.filter((one) => one.vm !== vm || !isFinal(one)),
});

/** True for a VM that is left as it is for as long as it is the same VM, and sick. */
export const isFinal = ({ end }: Spent): boolean => end === 'GivenUp' || end === 'Skipped';

/** True for a VM that healing leaves as it is, until a person says otherwise. */
export const isGivenUp = ({ spent }: HealingState, { name, uid }: { name: string; uid: string }): boolean =>
  spent.some((one) => one.vm === name && one.uid === uid && isFinal(one));

/** The newest of each VM; where they are too many, those go first that only shorten a delay. */
export function remembered(spent: readonly Spent[], newest: Spent): Spent[] {
  const all = [...spent.filter(({ vm }) => vm !== newest.vm), { ...newest, why: newest.why.slice(0, WHY_LENGTH) }];
  while (all.length > SPENT_KEPT)
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
 * What is handed to the next turn: of VMs without number that fail, those that are nearest to being replaced. Workers
 * remember the others.
 */
export function carried(state: HealingState): HealingState {
  const { earlyEnds, failing = [], guestPauses = [] } = state;
  return {
    ...state,
    earlyEnds: few(earlyEnds, (one, other) => other.count - one.count),
    failing: few(failing, (one, other) => one.since - other.since),
    guestPauses: few(guestPauses, () => 0),
  };
}

/** So many of those that come first by `first`, in an order that is always the same. */
const few = <T extends { vmUid: string }>(all: readonly T[], first: (one: T, other: T) => number): T[] =>
  all
    .toSorted((one, other) => first(one, other) || byVmUid(one, other))
    .slice(0, VMS_CARRIED)
    .toSorted(byVmUid);

const byVmUid = (one: { vmUid: string }, other: { vmUid: string }): number => (one.vmUid < other.vmUid ? -1 : 1);

/** `1 replacement`, `2 replacements`. */
export const replacementsInWords = (count: number): string =>
  `${count} ${count === 1 ? 'replacement' : 'replacements'}`;

export const pauseEndedAt = ({ guestPauses = [] }: Pick<HealingState, 'guestPauses'>, vmUid: string): number | null =>
  guestPauses.find((one) => one.vmUid === vmUid)?.endedAt ?? null;

export const failingSince = ({ failing = [] }: Pick<HealingState, 'failing'>, vmUid: string): number | null =>
  failing.find((one) => one.vmUid === vmUid)?.since ?? null;

const at = (now: number): string => new Date(now).toISOString();
