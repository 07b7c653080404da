import type { RolloutStatus } from '../../api/pool/pool.ts';
import { pausedBySignal, unpaused, withFailures, type RequestedAct } from '../rollout-state/state.ts';

/** What signals of users and of batches have told a rollout, as plain data. `at` is RFC 3339. */
export type RolloutSignal =
  | ({ ask: 'pause'; at: string } & RequestedAct)
  | { ask: 'resume' }
  | { ask: 'fail'; revision: string; failures: RolloutStatus['failures'] };

/**
 * Returns the rollout once this is done. Every caller who reaches Temporal may send signals: they hold a rollout back,
 * and take back what a signal has held.
 */
export function withSignal(rollout: RolloutStatus, ask: RolloutSignal): RolloutStatus {
  switch (ask.ask) {
    case 'pause':
      return pausedBySignal(rollout, ask, ask.at);
    case 'resume':
      return rollout.paused?.bySignal === true ? unpaused(rollout) : rollout;
    case 'fail':
      return withFailures(rollout, ask.revision, ask.failures);
  }
}
