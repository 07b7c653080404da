import type { RolloutStatus } from '../../../api/pool/pool.ts';
import type { VmView } from '../../views/vm.ts';

/** Who asked for something and why, if given: a signal may contain anything. */
export interface RequestedAct {
  by?: unknown;
  reason?: unknown;
}

const FAILURES_KEPT = 100;
/** Limits of the pool's status. */
const BY_LENGTH = 256;
const MESSAGE_LENGTH = 1024;

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
  const others = state.failures.filter(({ vm }) => !failures.some((other) => other.vm === vm));
  const added = isUndo ? failures.map((failure) => onTheWayBack(failure, state)) : failures;
  return { ...state, failures: [...others, ...added].slice(-FAILURES_KEPT) };
}

/** A VM that the rollout brought down was not down by itself; both failures are reported. */
function onTheWayBack(failure: Failure, { failures }: RolloutStatus): Failure {
  const before = failures.find(({ vm }) => vm === failure.vm);
  if (before === undefined) return failure;
  const { wasDown: _wasDown, ...rest } = failure;
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
export const goesOnSince = ({ startedAt, resumedAt, halted }: RolloutStatus): number =>
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

/** Reports whether this VM has failed in this rollout: a later VM of the same name has not. */
export const hasFailed = (state: RolloutStatus, { name, createdAt }: Pick<VmView, 'name' | 'createdAt'>): boolean =>
  failuresOfThisWay(state).some(({ vm, at }) => vm === name && createdAt <= Date.parse(at));
