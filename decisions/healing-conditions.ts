import type { Condition, HealingStatus } from '../api/pool.ts';
import { withTime, type Untimed } from './conditions.ts';
import { underWay, type HealingPlan } from './healing-plan.ts';
import { namesInWords } from './naming.ts';
import type { StoredPool } from './vm-from-template.ts';

const MESSAGE_LENGTH = 2_048;

/** `Healing`: VMs are being replaced. `HealingSuspended`: sick VMs are left as they are, and why. None where the pool heals none. */
export function healingConditions(pool: StoredPool, plan: HealingPlan, now: string): Condition[] {
  const cycles = underWay(plan.state.cycles);
  if (pool.spec.autohealing === undefined && cycles.length === 0) return [];
  const words = cycles.map(({ vm, attempt, why }) => `${vm} (replacement ${attempt}): ${why}`).join('; ');
  const healing: Untimed =
    cycles.length === 0
      ? { type: 'Healing', status: 'False', reason: 'NothingToHeal', message: plan.waits.join('; ').slice(0, MESSAGE_LENGTH) }
      : { type: 'Healing', status: 'True', reason: 'ReplacingVms', message: `${namesInWords(cycles.map(({ vm }) => vm))}: ${words}`.slice(0, MESSAGE_LENGTH) };
  return [healing, suspended(plan)].map((condition) => withTime(pool, condition, now));
}

function suspended({ state, suspended: why }: HealingPlan): Untimed {
  const type = 'HealingSuspended';
  if (why !== null) return { type, status: 'True', reason: 'TooManyUnhealthy', message: why };
  const { paused } = state;
  if (paused === undefined) return { type, status: 'False', reason: 'NotSuspended', message: '' };
  return { type, status: 'True', reason: 'PausedByPerson', message: `by ${paused.by}${paused.why === undefined ? '' : `: ${paused.why}`}` };
}

/** What the status keeps of the healing: enough for another run of the workflow to take it up. */
export const healingStatus = ({ state: { paused, cycles, spent } }: HealingPlan): HealingStatus => ({
  ...(paused === undefined ? {} : { paused }),
  cycles: underWay(cycles).slice(0, 250),
  spent: spent.slice(-250),
});
