import { CAPS } from '../../../api/lib/caps.ts';
import type { RolloutStatus } from '../../../api/pool/pool.ts';
import type { VmView } from '../../views/vm.ts';

/** Who asked for something and why, if given: a signal may contain anything. */
export interface RequestedAct {
  by?: unknown;
  reason?: unknown;
}

/** Limits of the pool's status. `SHORT_LENGTH`: of the older failures of many. */
const BY_LENGTH = 256;
const MESSAGE_LENGTH = 1024;
const SHORT_LENGTH = 60;

/** Who acted, when and why, cut to the limits of the status. `at` is RFC 3339. */
export const actOf = ({ by, reason }: RequestedAct, at: string): NonNullable<RolloutStatus['paused']> => ({
  by: textOf(by ?? 'unknown', BY_LENGTH),
  at,
  ...(reason === undefined || reason === null ? {} : { reason: textOf(reason, MESSAGE_LENGTH) }),
});

const textOf = (value: unknown, length: number): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, length);

/** A rollout that has just begun: of an earlier one, a user's pause, answers and the batch numbers carry over. */
export const newRolloutState = (revision: string, at: string, before?: RolloutStatus): RolloutStatus => ({
  revision,
  startedAt: at,
  batches: 0,
  lastBatch: before?.lastBatch ?? 0,
  step: 0,
  failures: [],
  ...(before?.paused === undefined ? {} : { paused: before.paused }),
  ...(before?.handledRequests === undefined ? {} : { handledRequests: before.handledRequests }),
});

export const paused = (state: RolloutStatus, request: RequestedAct, at: string): RolloutStatus => ({
  ...state,
  paused: actOf(request, at),
});

/** Does the same for a signal, which Kubernetes has not checked: it takes the place of no pause that it has. */
export const pausedBySignal = (state: RolloutStatus, request: RequestedAct, at: string): RolloutStatus =>
  state.paused !== undefined && state.paused.bySignal !== true
    ? state
    : { ...state, paused: { ...actOf(request, at), bySignal: true } };

/** The user who has paused a rollout; the sender of a signal can give any name. */
export const pauserOf = ({ by, bySignal }: NonNullable<RolloutStatus['paused']>): string =>
  bySignal === true ? `${by} (a signal)` : by;

export function unpaused(state: RolloutStatus): RolloutStatus {
  const { paused: _paused, ...rest } = state;
  return rest;
}

/**
 * Continues the rollout, even after a failure or an abort: failed VMs may be tried again, with a new deadline. `at` is
 * RFC 3339.
 */
export function resumed(state: RolloutStatus, at: string): RolloutStatus {
  const { paused: _paused, halted: _halted, ...rest } = state;
  return { ...rest, failures: [], resumedAt: at };
}

export const halted = (
  state: RolloutStatus,
  kind: NonNullable<RolloutStatus['halted']>['kind'],
  request: RequestedAct,
  at: string,
): RolloutStatus => ({ ...state, halted: { kind, ...actOf(request, at) } });

/** One step further, or past all steps if `full`. */
export function promoted(state: RolloutStatus, steps: number, full: boolean): RolloutStatus {
  const { stepReachedAt: _stepReachedAt, ...rest } = state;
  return { ...rest, step: full ? steps : Math.min(state.step + 1, steps) };
}

/**
 * Records the failures of a batch that brought VMs to `revision`; ignores them if the VMs are to have another revision
 * meanwhile.
 */
export function withFailures(
  state: RolloutStatus,
  revision: string,
  failures: RolloutStatus['failures'],
): RolloutStatus {
  const isUndo = state.halted?.kind === 'Undoing';
  if ((revision === state.revision) === isUndo) return state;
  const added = isUndo ? failures.map((failure) => onTheWayBack(failure, state)) : failures;
  return { ...state, failures: joined(state.failures, added) };
}

/** Adds failures: each VM is there once, the newest last, and of older ones only so much as tells which they are. */
export function joined(before: readonly Failure[], added: readonly Failure[]): Failure[] {
  const names = new Set(added.map(({ vm }) => vm));
  const all = [...before.filter(({ vm }) => !names.has(vm)), ...added].slice(-CAPS.failures);
  const older = Math.max(all.length - CAPS.failureMessages, 0);
  return all.map((one, index) => (index < older ? { ...one, message: one.message.slice(0, SHORT_LENGTH) } : one));
}

/**
 * A VM that the rollout brought down was not down by itself; both failures are reported. Once the list is full, it may
 * no longer tell which VMs these are.
 */
function onTheWayBack(failure: Failure, { failures }: RolloutStatus): Failure {
  const before = failures.find(({ vm }) => vm === failure.vm);
  const { wasDown: _wasDown, ...rest } = failure;
  if (before === undefined) return failures.length < CAPS.failures ? failure : rest;
  const message = `${before.message}; and on the way back: ${failure.message}`.slice(0, MESSAGE_LENGTH);
  return { ...rest, message, ...(before.wasDown === undefined ? {} : { wasDown: before.wasDown }) };
}

type Failure = RolloutStatus['failures'][number];

/** Reports whether VMs are brought back to their previous revision. */
export const isGoingBack = ({ halted }: Pick<RolloutStatus, 'halted'>): boolean =>
  halted?.kind === 'Undoing' || halted?.kind === 'UndoFailed';

/** Reports whether VMs are being brought to a revision, forward or back. */
export const isUnderWay = ({ completedAt, halted }: RolloutStatus): boolean =>
  completedAt === undefined && (halted === undefined || halted.kind === 'Undoing');

/** Since when it has run in its present direction, in milliseconds since the epoch: deadlines count from here. */
export const deadlinesFrom = ({ startedAt, resumedAt, halted }: RolloutStatus): number =>
  Math.max(...[startedAt, resumedAt, halted?.at].map((time) => (time === undefined ? 0 : Date.parse(time))));

/** Failures that say something about the revision that VMs are being brought to. */
export const failuresThatCount = (state: RolloutStatus): Failure[] =>
  failuresOfThisWay(state).filter(({ wasDown }) => wasDown !== true);

/** Failures in the rollout's current direction: failures that caused an undo do not count against the undo. */
export function failuresOfThisWay(state: RolloutStatus): Failure[] {
  const { failures, halted } = state;
  if (halted === undefined || !isGoingBack(state)) return failures;
  return failures.filter(({ at }) => Date.parse(at) > Date.parse(halted.at));
}

/** Reports whether so many VMs have failed that it is not known for certain which. */
export const isFull = (state: RolloutStatus): boolean => failuresOfThisWay(state).length >= CAPS.failures;

/** Returns which VMs have failed in this rollout: a later VM of the same name has not. */
export function failedIn(state: RolloutStatus): (vm: Pick<VmView, 'name' | 'createdAt'>) => boolean {
  const failedAt = new Map(failuresOfThisWay(state).map(({ vm, at }) => [vm, Date.parse(at)]));
  return ({ name, createdAt }) => createdAt <= (failedAt.get(name) ?? -Infinity);
}
