import { CAPS } from '../../api/lib/caps.ts';
import type { HealingStatus } from '../../api/pool/pool.ts';
import { rfc3339, timeOf } from '../lib/time.ts';
import {
  attemptIdOf,
  type AttemptEnd,
  type AttemptId,
  type FoundUnhealthy,
  type PlannedAttempt,
  type Removed,
} from './attempt.ts';

/** What healing may not begin: removals of unhealthy VMs, or everything. */
export type HealingMode = 'Active' | 'NoNewReplacements' | 'Paused';

/** What a pool's workflow knows of the workflow of an attempt. */
type AttemptState =
  | { state: 'NotBegun' }
  /** `since`: when it was last begun, in milliseconds since the epoch. */
  | { state: 'Running'; since: number }
  /** An earlier run of the pool's workflow may have begun it. */
  | { state: 'Unknown' }
  | { state: 'Ended'; outcome: AttemptEnd };

/** A healing cycle: attempt after attempt until the VM runs well. `run`: the attempt that removes the VM, and waits. */
export type Cycle = HealingStatus['cycles'][number] & { run: AttemptState };
export type FinishedCycle = HealingStatus['finished'][number];

/** Consecutive VMIs of one VM that ended before they ran well. */
export interface EarlyExits {
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

/**
 * A VM that was left alone while it was not ready, since a user had paused its VMI, it moved, or something else was
 * done to it. Kept until it is ready again: a VM is not unhealthy for the time of that.
 */
export interface VmiPause {
  vmUid: string;
  /** When that was first seen to be over; milliseconds since the epoch, null while it lasts. */
  endedAt: number | null;
}

/** The same of VMs that are not known by name, for which it counts as for all of the pool. */
export type LeftAlone = NonNullable<HealingStatus['leftAlone']>;

/** What a run of the pool's workflow knows of healing beside its status, and finds again if that is lost. */
export interface HealingRun {
  attempts: (AttemptId & { run: AttemptState })[];
  earlyExits: EarlyExits[];
  /** Kept only if the pool sets minFailingToStartDuration. */
  failing: Failing[];
  /** What the last plan held back. */
  mode: HealingMode;
}

/** What is known of a pool's healing; `leftAlone`: of the VMs that `vmiPauses` has no place for. */
export interface HealingState
  extends Omit<HealingStatus, 'cycles' | 'vmiPauses' | 'notReplaced' | 'notListed'>, Omit<HealingRun, 'attempts'> {
  cycles: Cycle[];
  vmiPauses: VmiPause[];
}

export const noHealing: HealingState = {
  cycles: [],
  finished: [],
  earlyExits: [],
  failing: [],
  vmiPauses: [],
  mode: 'Active',
};

/** Returns what is known of healing by the pool's status and a run of its workflow: without, attempts are unknown. */
export function stateFrom(status: HealingStatus | undefined, run?: HealingRun): HealingState {
  const { attempts = [], ...watched } = run ?? {};
  const { notReplaced: _notReplaced, notListed: _notListed, cycles = [], vmiPauses = [], ...known } = status ?? {};
  const runs = new Map(attempts.map((one) => [attemptKey(one), one.run]));
  return {
    ...noHealing,
    ...known,
    ...watched,
    vmiPauses: vmiPauses.map(({ vmUid, endedAt }) => ({ vmUid, endedAt: timeOf(endedAt) })),
    cycles: cycles.map((cycle) => ({ ...cycle, run: runs.get(attemptKey(cycle)) ?? { state: 'Unknown' } })),
  };
}

/** Returns what a run of the pool's workflow keeps. */
export const runOf = ({ cycles, earlyExits, failing, mode }: HealingState): HealingRun => ({
  attempts: cycles.map((cycle) => ({ ...attemptIdOf(cycle), run: cycle.run })),
  earlyExits,
  failing,
  mode,
});

/** What the next run of the pool's workflow takes over: it begins each attempt in progress again. */
export const carriedOver = (run: HealingRun): HealingRun => ({
  ...run,
  attempts: run.attempts.filter((one) => one.run.state !== 'Running'),
});

/** Tells attempts apart. */
export const attemptKey = ({ vm, uid, attempt, startedAt }: AttemptId): string =>
  `${vm} ${uid} ${attempt} ${startedAt}`;

/**
 * A pool's workflow carries its state from turn to turn, so that must stay small, whatever KubeVirt says and however
 * many VMs there are.
 */
export const MESSAGE_LENGTH = 128;

const namesIn = (state: Pick<HealingStatus, 'cycles'>, ...phases: Cycle['phase'][]): string[] =>
  state.cycles.filter(({ phase }) => phases.includes(phase)).map(({ vm }) => vm);

/** The cycles of replicas, or of standby VMs. */
export const cyclesOf = (
  { cycles }: Pick<HealingStatus, 'cycles'>,
  role?: 'Standby',
): Pick<HealingStatus, 'cycles'> => ({ cycles: cycles.filter((cycle) => cycle.role === role) });

/** Names that cycles hold back: no VM may be created under them until the delay is over. */
export const reservedByHealing = (state: Pick<HealingStatus, 'cycles'>): string[] =>
  namesIn(state, 'Removing', 'Waiting');
/** Names under which new VMs are to be created. */
export const toBeMade = (state: Pick<HealingStatus, 'cycles'>): string[] => namesIn(state, 'Provisioning');

export const newCycle = ({ name, uid, attempt, message, role }: FoundUnhealthy, now: number): Cycle => ({
  vm: name,
  uid,
  attempt,
  phase: 'Removing',
  message: message.slice(0, MESSAGE_LENGTH),
  startedAt: rfc3339(now),
  ...(role === undefined ? {} : { role }),
  run: { state: 'NotBegun' },
});

const isOf = (cycle: AttemptId, id: AttemptId): boolean => attemptKey(cycle) === attemptKey(id);

/** Changes the cycle of the attempt. A message about another attempt, cycle or VM changes nothing. */
const changed = (state: HealingState, id: AttemptId, change: (cycle: Cycle) => Cycle): HealingState => ({
  ...state,
  cycles: state.cycles.map((cycle) => (isOf(cycle, id) ? change(cycle) : cycle)),
});

export const withBegun = (state: HealingState, begin: readonly PlannedAttempt[], now: number): HealingState => {
  const names = new Set(begin.map(({ unhealthyVm }) => unhealthyVm.name));
  const run = { state: 'Running', since: now } as const;
  return { ...state, cycles: state.cycles.map((cycle) => (names.has(cycle.vm) ? { ...cycle, run } : cycle)) };
};

/** Returns the state once it is known that the attempt does not run: the next plan begins it again. */
export const withLostAttempt = (state: HealingState, id: AttemptId, run: 'NotBegun' | 'Unknown'): HealingState =>
  changed(state, id, (cycle) => (cycle.run.state === 'Ended' ? cycle : { ...cycle, run: { state: run } }));

export const withRemoval = (state: HealingState, id: AttemptId, removed: Removed): HealingState =>
  changed(state, id, (cycle) => afterRemoval(cycle, removed));

function afterRemoval(cycle: Cycle, { keptDisks, nextAt }: Removed): Cycle {
  if (cycle.phase !== 'Removing') return cycle;
  const { onSameDisks = 0, ...rest } = cycle;
  return { ...rest, phase: 'Waiting', nextAt, ...(keptDisks ? { onSameDisks: onSameDisks + 1 } : {}) };
}

/** Returns the state once an attempt has ended. If its delay was skipped, its end is not waited for. */
export const withAttemptEnd = (state: HealingState, id: AttemptId, outcome: AttemptEnd): HealingState =>
  changed(state, id, (cycle) =>
    cycle.run.state === 'Ended'
      ? cycle
      : { ...(outcome.end === 'Removed' ? afterRemoval(cycle, outcome) : cycle), run: { state: 'Ended', outcome } },
  );

export function withEnd(
  state: HealingState,
  { vm }: Cycle,
  { uid, attempts, end, message }: Pick<FinishedCycle, 'uid' | 'attempts' | 'end' | 'message'>,
  now: number,
): HealingState {
  const last = state.finished.find((one) => one.vm === vm && one.uid === uid);
  const refusals = end === 'Refused' ? { refusals: (last?.refusals ?? 0) + 1 } : {};
  return {
    ...state,
    cycles: state.cycles.filter((cycle) => cycle.vm !== vm),
    finished: remembered(state.finished, { vm, uid, attempts, ...refusals, end, message, at: rfc3339(now) }),
  };
}

/**
 * Skips every wait of the VM's cycle that can be skipped: for the delay, and for healing to continue. A VM that was
 * given up or skipped is healed again.
 */
export function withSkippedDelay(state: HealingState, vm: string): HealingState {
  const { cycles } = state;
  if (!cycles.some((cycle) => cycle.vm === vm)) return unblocked(state, vm);
  const skipDelay = (cycle: Cycle): Cycle =>
    cycle.vm === vm && cycle.phase !== 'Provisioning' ? { ...cycle, skipDelay: true } : cycle;
  return { ...state, cycles: cycles.map(skipDelay) };
}

/** Has the next plan end the VM's cycle, and leave the VM as it is. */
export const withSkip = (state: HealingState, vm: string, skipped: string): HealingState => ({
  ...state,
  cycles: state.cycles.map((cycle) => (cycle.vm === vm ? { skipped, ...cycle } : cycle)),
});

/** Allows healing a VM again that was given up or skipped; its attempts are counted from the start. */
const unblocked = (state: HealingState, vm: string): HealingState => ({
  ...state,
  finished: state.finished.filter((one) => one.vm !== vm || !isFinal(one)),
});

/** True for an end after which the VM is left as it is, for as long as the same VM exists and is unhealthy. */
export const isFinal = ({ end }: FinishedCycle): boolean => end === 'GivenUp' || end === 'Skipped';

/**
 * Returns the user who has skipped the healing of the VM later than `at`, in milliseconds since the epoch; null if none
 * has.
 */
export function skippedSince(
  status: HealingStatus | undefined,
  { name, uid }: { name: string; uid: string },
  at: number,
): string | null {
  const found = status?.finished.find((one) => one.vm === name && one.uid === uid && one.end === 'Skipped');
  return found !== undefined && Date.parse(found.at) > at ? found.message : null;
}

/** True for a VM that healing leaves as it is until a user intervenes. */
export const isGivenUp = ({ finished }: HealingState, { name, uid }: { name: string; uid: string }): boolean =>
  finished.some((one) => one.vm === name && one.uid === uid && isFinal(one));

/** Keeps the newest ended cycle of each VM: none begins that would not find a place here (`healingCapacity`). */
export const remembered = (finished: readonly FinishedCycle[], newest: FinishedCycle): FinishedCycle[] => [
  ...finished.filter(({ vm }) => vm !== newest.vm),
  { ...newest, message: newest.message.slice(0, MESSAGE_LENGTH) },
];

/** What attempts have told a pool's healing, as plain data. */
export type HealingSignal =
  | { kind: 'removed'; id: AttemptId; removed: Removed }
  | { kind: 'ended'; id: AttemptId; outcome: AttemptEnd }
  | { kind: 'lost'; id: AttemptId; run: 'NotBegun' | 'Unknown' };

export function withHealingSignal(state: HealingState, signal: HealingSignal): HealingState {
  switch (signal.kind) {
    case 'removed':
      return withRemoval(state, signal.id, signal.removed);
    case 'ended':
      return withAttemptEnd(state, signal.id, signal.outcome);
    case 'lost':
      return withLostAttempt(state, signal.id, signal.run);
  }
}

/** Returns what was told, with one more. What is lost is told again by attempts that are begun again. */
export const withTold = (told: readonly HealingSignal[], signal: HealingSignal): HealingSignal[] =>
  [...told.filter(({ kind, id }) => kind !== signal.kind || !isOf(id, signal.id)), signal].slice(-CAPS.signals);
