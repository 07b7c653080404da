import type { TimedCondition } from './kubevirt.ts';

interface HasConditions {
  status?: { conditions?: TimedCondition[] };
}

/** Formats a time like Kubernetes: RFC 3339 in whole seconds. */
export const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

export const conditionOf = (object: HasConditions | undefined, type: string): TimedCondition | undefined =>
  object?.status?.conditions?.find((condition) => condition.type === type);

export const isTrue = (object: HasConditions | undefined, type: string): boolean =>
  conditionOf(object, type)?.status === 'True';

/**
 * Returns the list with the condition in it. As in KubeVirt, a condition of the same status and reason keeps its
 * message and times.
 */
export function withCondition(list: readonly TimedCondition[], condition: TimedCondition): TimedCondition[] {
  const at = list.findIndex((other) => other.type === condition.type);
  if (at === -1) return [...list, condition];
  const before = list[at]!;
  if (before.status === condition.status && (before.reason ?? '') === (condition.reason ?? '')) return [...list];
  return list.with(at, condition);
}

export const withoutCondition = (list: readonly TimedCondition[], type: string): TimedCondition[] =>
  list.filter((condition) => condition.type !== type);
