import type { BudgetCondition } from '../../api/budgets/reasons.ts';
import { conditionOf } from '../../api/objects.ts';
import type { OperationCondition } from '../../api/operations/reasons.ts';
import type { Condition } from '../../api/pool/pool.ts';
import { CONDITION_REASONS, type ConditionReason, type ConditionType } from '../../api/reasons.ts';
import type { ScheduleCondition } from '../../api/schedules/reasons.ts';

/** A condition of this type without its transition time, which only the owner's status knows. */
export type UntimedCondition<Type extends ConditionType = ConditionType> = {
  [T in Type]: Omit<Condition, 'lastTransitionTime' | 'type' | 'reason'> & { type: T; reason: ConditionReason<T> };
}[Type];

/** Follows Kubernetes: `lastTransitionTime` changes only with the condition's status. */
export function withTime(
  { status }: { status?: { conditions?: Condition[] } | undefined },
  condition: UntimedCondition | OperationCondition | ScheduleCondition | BudgetCondition,
  now: string,
): Condition {
  const before = conditionOf(status, condition.type);
  return {
    ...condition,
    lastTransitionTime: before?.status === condition.status ? (before.lastTransitionTime ?? now) : now,
  };
}

/** The conditions that others have put into the status of a pool or a set: these stay. */
export const conditionsOfOthers = ({ status }: { status?: { conditions?: Condition[] } }): Condition[] =>
  (status?.conditions ?? []).filter(({ type }) => !(type in CONDITION_REASONS));
