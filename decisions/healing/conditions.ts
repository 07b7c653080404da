import type { HealingStatus } from '../../api/pool/pool.ts';
import { inOneMessage } from '../lib/bounded-message.ts';
import { rfc3339 } from '../lib/time.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { StoredPool } from '../views/pool.ts';
import { formatAllNotReplaced, formatCycles } from './format.ts';
import type { HealingPlan } from './plan.ts';
import type { VmiPause } from './state.ts';

/** The parts of a plan that the pool's status shows. */
export type HealingReport = Pick<HealingPlan, 'state' | 'suspended' | 'notReplaced' | 'notListed'>;

/**
 * `Healing`: VMs are being replaced. `HealingSuspended`: unhealthy VMs are left as they are, and why. Returns no
 * conditions if the pool has no autohealing and no cycle in progress.
 */
export function healingConditions(pool: StoredPool, report: HealingReport): UntimedCondition[] {
  const { cycles } = report.state;
  if (pool.spec.autohealing === undefined && cycles.length === 0) return [];
  const { notReplaced, notListed } = report;
  const sentences = [...formatCycles(cycles), ...formatAllNotReplaced(notReplaced)];
  const message = inOneMessage(sentences, { more: notListed });
  const waits = notReplaced.some(({ waitsFor }) => waitsFor !== undefined);
  const healing: UntimedCondition =
    cycles.length === 0
      ? { type: 'Healing', status: 'False', reason: waits ? 'Waiting' : 'NothingToHeal', message }
      : { type: 'Healing', status: 'True', reason: 'ReplacingVms', message };
  return [healing, suspended(report)];
}

function suspended({ state: { paused }, suspended: message }: HealingReport): UntimedCondition {
  const type = 'HealingSuspended';
  if (paused !== undefined) {
    const message = `by ${paused.by}${paused.reason === undefined ? '' : `: ${paused.reason}`}`;
    return { type, status: 'True', reason: 'PausedByUser', message };
  }
  if (message !== null) return { type, status: 'True', reason: 'TooManyUnhealthy', message };
  return { type, status: 'False', reason: 'NotSuspended', message: '' };
}

/** The record of healing. */
export function healingStatus({ state, notReplaced, notListed }: HealingReport): HealingStatus {
  const { paused, cycles, finished, vmiPauses, leftAlone, handledRequests } = state;
  return {
    ...(paused === undefined ? {} : { paused }),
    cycles: cycles.map(({ run: _run, ...cycle }) => cycle),
    finished,
    ...(notReplaced.length === 0 ? {} : { notReplaced }),
    ...(notListed === 0 ? {} : { notListed }),
    ...(vmiPauses.length === 0 ? {} : { vmiPauses: vmiPauses.map(timed) }),
    ...(leftAlone === undefined ? {} : { leftAlone }),
    ...(handledRequests === undefined ? {} : { handledRequests }),
  };
}

const timed = ({ vmUid, endedAt }: VmiPause): NonNullable<HealingStatus['vmiPauses']>[number] => ({
  vmUid,
  ...(endedAt === null ? {} : { endedAt: rfc3339(endedAt) }),
});
