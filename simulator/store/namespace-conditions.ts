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
  const ours = [
    condition('NamespaceContentRemaining', kinds, {
      True: { reason: 'SomeResourcesRemain', words: 'Some resources remain' },
      False: { reason: 'ContentRemoved', words: 'All content was removed' },
    }),
    condition('NamespaceFinalizersRemaining', finalizersOf(remaining), {
      True: { reason: 'SomeFinalizersRemain', words: 'Some content has finalizers' },
      False: { reason: 'ContentHasNoFinalizers', words: 'No content has finalizers' },
    }),
  ];
  const before = (type: string): Condition | undefined => existing.find((one) => one.type === type);
  if (ours.every(({ type, message }) => before(type)?.message === message)) return null;
  const timed = ours.map((one): Condition => {
    const { status, lastTransitionTime = now } = before(one.type) ?? {};
    return { ...one, lastTransitionTime: status === one.status ? lastTransitionTime : now };
  });
  return [...existing.filter(({ type }) => !ours.some((one) => one.type === type)), ...timed];
}

type Said = Record<'True' | 'False', { reason: string; words: string }>;

function condition(type: string, what: readonly string[], said: Said): Condition {
  const status = what.length > 0 ? 'True' : 'False';
  const { reason, words } = said[status];
  return { type, status, reason, message: what.length > 0 ? `${words}: ${what.join(', ')}` : words };
}

function finalizersOf(remaining: readonly Remaining[]): string[] {
  const counts = new Map<string, number>();
  for (const { objects } of remaining)
    for (const { metadata } of objects)
      for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  return Array.from(counts, ([finalizer, count]) => `${finalizer} in ${count}`);
}
