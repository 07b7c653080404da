import type { RolloutStatus } from '../api/pool.ts';
import type { VmView } from './vm.ts';

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

const textOf = (value: unknown, length: number): string => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, length);

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

export const paused = (state: RolloutStatus, asked: Asked, at: string): RolloutStatus => ({ ...state, paused: actOf(asked, at) });

/** Goes on, also after a failure or an abort: what has failed may be tried again. */
export function resumed(state: RolloutStatus): RolloutStatus {
  const { paused: _paused, halted: _halted, ...rest } = state;
  return { ...rest, failures: [] };
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
export function withFailures(state: RolloutStatus, revision: string, failures: RolloutStatus['failures']): RolloutStatus {
  const isUndo = state.halted?.kind === 'Undoing';
  if ((revision === state.revision) === isUndo) return state;
  const others = state.failures.filter(({ vm }) => !failures.some((other) => other.vm === vm));
  return { ...state, failures: [...others, ...failures].slice(-FAILURES_KEPT) };
}

/** Whether this VM has failed in this rollout: a later one of the same name has not. */
export const hasFailed = ({ failures }: RolloutStatus, { name, createdAt }: Pick<VmView, 'name' | 'createdAt'>): boolean =>
  failures.some(({ vm, at }) => vm === name && createdAt <= Date.parse(at));
