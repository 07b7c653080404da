import type { RolloutStatus } from '../../api/pool/pool.ts';
import { halted, paused, promoted, resumed, withFailures, type RequestedAct } from './state.ts';

/** What people and batches have told a rollout, as plain data. `at` is RFC 3339. */
export type RolloutAsk =
  | ({ ask: 'pause' | 'abort'; at: string } & RequestedAct)
  | { ask: 'resume'; at: string }
  | { ask: 'promote'; full: boolean }
  | { ask: 'fail'; revision: string; failures: RolloutStatus['failures'] };

/** Returns the rollout once this is done. `steps`: how many steps the pool's rollouts have. */
export function withAsk(rollout: RolloutStatus, ask: RolloutAsk, steps: number): RolloutStatus {
  switch (ask.ask) {
    case 'pause':
      return paused(rollout, ask, ask.at);
    case 'resume':
      return resumed(rollout, ask.at);
    case 'abort':
      return rollout.completedAt === undefined ? halted(rollout, 'Aborted', ask, ask.at) : rollout;
    case 'promote':
      return ask.full || rollout.stepReachedAt !== undefined ? promoted(rollout, steps, ask.full) : rollout;
    case 'fail':
      return withFailures(rollout, ask.revision, ask.failures);
  }
}
