import type { Condition } from '../../api/objects.ts';
import { URGENCY, urgencyOf, type Urgency } from '../../decisions/notices/urgency.ts';

/** A condition that is worth a line of its own, and how bad that is. */
interface NotableCondition {
  type: string;
  reason: string;
  message: string;
  tone: Urgency;
}

const ORDER = Object.keys(URGENCY);

/** Healing that has nothing in progress may have something to say all the same. */
const notableConditions = (conditions: readonly Condition[] = []): NotableCondition[] =>
  conditions
    .filter(({ type, status, message }) => type in URGENCY && (status === 'True' || (type === 'Healing' && message)))
    .toSorted((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type))
    .map(({ type, reason = '', message = '' }) => ({
      type,
      reason,
      message,
      tone: reason === 'Stuck' ? 'bad' : urgencyOf(type)!,
    }));

/** What the lines about the rollout of a pool say. */
const OF_ROLLOUT = new Set(['Progressing', 'Paused', 'Degraded']);

/** The notable conditions that say something else than the rollout, of a pool, and than a condition that says more. */
export const conditionsBesideRollout = (conditions: readonly Condition[] = [], isPool: boolean): NotableCondition[] =>
  notableConditions(conditions).filter(({ type, reason }) =>
    type === 'Stalled' ? !isToldElsewhere(reason, conditions) : !(isPool && OF_ROLLOUT.has(type)),
  );

/** Whether a condition that says more has this reason, of the end of a rollout, of a surplus, or of a refusal. */
const isToldElsewhere = (reason: string, conditions: readonly Condition[]): boolean =>
  conditions.some((other) => other.reason === reason && other.type !== 'Ready' && other.type !== 'Stalled');
