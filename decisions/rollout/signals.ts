import type { RolloutStatus } from '../../api/pool/pool.ts';
import { joined, pausedBySignal, unpaused, withFailures, type RequestedAct } from './state/state.ts';

/** What signals of users and of batches have told a rollout, as plain data. `at` is RFC 3339. */
export type RolloutSignal =
  | ({ kind: 'pause'; at: string } & RequestedAct)
  | { kind: 'resume' }
  | { kind: 'fail'; revision: string; failures: RolloutStatus['failures'] };

/**
 * Returns the rollout once this is done. Every caller who reaches Temporal may send signals: they hold a rollout back,
 * and take back what a signal has held.
 */
export function withSignal(rollout: RolloutStatus, signal: RolloutSignal): RolloutStatus {
  switch (signal.kind) {
    case 'pause':
      return pausedBySignal(rollout, signal, signal.at);
    case 'resume':
      return rollout.paused?.bySignal === true ? unpaused(rollout) : rollout;
    case 'fail':
      return withFailures(rollout, signal.revision, signal.failures);
  }
}

/** Returns what was told, with one more: the last pause or resume counts, and each failure. */
export function withTold(told: readonly RolloutSignal[], signal: RolloutSignal): RolloutSignal[] {
  const isSame = (one: RolloutSignal): boolean =>
    signal.kind === 'fail' ? one.kind === 'fail' && one.revision === signal.revision : one.kind !== 'fail';
  const before = told.findLast(isSame);
  const failures = before?.kind === 'fail' ? before.failures : [];
  const one = signal.kind === 'fail' ? { ...signal, failures: joined(failures, signal.failures) } : signal;
  return [...told.filter((other) => !isSame(other)), one];
}
