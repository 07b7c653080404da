import type { RolloutStatus } from '../../api/pool/pool.ts';
import type { VmView } from '../views/vm.ts';

/** Who asked for something, and why, as far as it was said: a signal may say anything at all. */
export interface Asked {
  by?: unknown;
  why?: unknown;
}

const FAILURES_KEPT = 100;
/** What the pool's status takes. */
const BY_LENGTH = 256;
const WHY_LENGTH = 1024;

/** Who did it, when and why, as the status takes it. `at` is RFC 3339. */
export const actOf = ({ by, why }: Asked, at: string): NonNullable<RolloutStatus['paused']> => ({
  by: textOf(by ?? 'somebody', BY_LENGTH),
  at,
  ...(why === undefined || why === null ? {} : { why: textOf(why, WHY_LENGTH) }),
});

const textOf = (value: unknown, length: number): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, length);

/** A rollout that has just begun: nothing of an earlier one holds for it but a person's pause. */
export const begun = (revision: string, at: string, before?: RolloutStatus): RolloutStatus => ({
  revision,
  startedAt: at,
  batches: 0,
  lastBatch: before?.lastBatch ?? 0,
  step: 0,
  failures: [],
  ...(before?.paused === undefined ? {} : { paused: before.paused }),
});

export const paused = (state: RolloutStatus, asked: Asked, at: string): RolloutStatus => ({
  ...state,
  paused: actOf(asked, at),
});

/**
 * Goes on, also after a failure or an abort: what has failed may be tried again, and has its time anew. `at` is RFC
 * 3339.
 */
export function resumed(state: RolloutStatus, at: string): RolloutStatus {
  const { paused: _paused, halted: _halted, ...rest } = state;
  return { ...rest, failures: [], resumedAt: at };
}

export const halted = (
  state: RolloutStatus,
  kind: NonNullable<RolloutStatus['halted']>['kind'],
  asked: Asked,
  at: string,
): RolloutStatus => ({ ...state, halted: { kind, ...actOf(asked, at) } });

/** One step further, or with `full` past all of them. */
export function promoted(state: RolloutStatus, steps: number, full: boolean): RolloutStatus {
  const { stepReachedAt: _stepReachedAt, ...rest } = state;
  return { ...rest, step: full ? steps : Math.min(state.step + 1, steps) };
}

/** Notes what has failed in a batch that brought VMs to `revision`: nothing, where they are to be of another by now. */
export function withFailures(
  state: RolloutStatus,
  revision: string,
  failures: RolloutStatus['failures'],
): RolloutStatus {
  const isUndo = state.halted?.kind === 'Undoing';
  if ((revision === state.revision) === isUndo) return state;
  const others = state.failures.filter(({ vm }) => !failures.some((other) => other.vm === vm));
  const told = isUndo ? failures.map((failure) => onTheWayBack(failure, state)) : failures;
  return { ...state, failures: [...others, ...told].slice(-FAILURES_KEPT) };
}

/** One that the rollout had brought down was not down by itself, and both failures are told. */
function onTheWayBack(failure: Failure, { failures }: RolloutStatus): Failure {
  const before = failures.find(({ vm }) => vm === failure.vm);
  if (before === undefined) return failure;
  const { wasDown: _wasDown, ...rest } = failure;
  const why = `${before.why}; and on the way back: ${failure.why}`.slice(0, WHY_LENGTH);
  return { ...rest, why, ...(before.wasDown === undefined ? {} : { wasDown: before.wasDown }) };
}

type Failure = RolloutStatus['failures'][number];

/** Whether VMs are brought back to the revision that they had before. */
export const isGoingBack = ({ halted }: Pick<RolloutStatus, 'halted'>): boolean =>
  halted?.kind === 'Undoing' || halted?.kind === 'UndoFailed';

/** Failures of the way that the rollout goes now: those that it was turned back for say nothing of the way back. */
export function failuresOfThisWay(state: RolloutStatus): Failure[] {
  const { failures, halted } = state;
  if (halted === undefined || !isGoingBack(state)) return failures;
  return failures.filter(({ at }) => Date.parse(at) > Date.parse(halted.at));
}

/** Whether this VM has failed in this rollout: a later one of the same name has not. */
export const hasFailed = (state: RolloutStatus, { name, createdAt }: Pick<VmView, 'name' | 'createdAt'>): boolean =>
  failuresOfThisWay(state).some(({ vm, at }) => vm === name && createdAt <= Date.parse(at));
