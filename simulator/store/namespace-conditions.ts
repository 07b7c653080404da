import type { Condition, KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';

/** Objects of one kind that a namespace still has although they were deleted. */
export interface Remaining {
  resource: Resource;
  objects: readonly KubeObject[];
}

/**
 * Returns the conditions of a namespace that is being deleted, by which Kubernetes says what remains and which
 * finalizers hold it. Null if its present conditions say the same.
 */
export function remainingConditions(
  existing: readonly Condition[],
  remaining: readonly Remaining[],
  now: string,
): Condition[] | null {
  const kinds = remaining.map(({ resource: { plural, group }, objects }) => `${plural}.${group} has ${objects.length}`);
  const conditions = [
    condition('NamespaceContentRemaining', kinds, {
      True: { reason: 'SomeResourcesRemain', message: 'Some resources remain' },
      False: { reason: 'ContentRemoved', message: 'All content was removed' },
    }),
    condition('NamespaceFinalizersRemaining', finalizersOf(remaining), {
      True: { reason: 'SomeFinalizersRemain', message: 'Some content has finalizers' },
      False: { reason: 'ContentHasNoFinalizers', message: 'No content has finalizers' },
    }),
  ];
  const before = (type: string): Condition | undefined => existing.find((one) => one.type === type);
  if (conditions.every(({ type, message }) => before(type)?.message === message)) return null;
  const timed = conditions.map((one): Condition => {
    const { status, lastTransitionTime = now } = before(one.type) ?? {};
    return { ...one, lastTransitionTime: status === one.status ? lastTransitionTime : now };
  });
  return [...existing.filter(({ type }) => !conditions.some((one) => one.type === type)), ...timed];
}

type Said = Record<'True' | 'False', { reason: string; message: string }>;

function condition(type: string, what: readonly string[], said: Said): Condition {
  const status = what.length > 0 ? 'True' : 'False';
  const { reason, message } = said[status];
  return { type, status, reason, message: what.length > 0 ? `${message}: ${what.join(', ')}` : message };
}

function finalizersOf(remaining: readonly Remaining[]): string[] {
  const counts = new Map<string, number>();
  for (const { objects } of remaining)
    for (const { metadata } of objects)
      for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  return Array.from(counts, ([finalizer, count]) => `${finalizer} in ${count}`);
}
