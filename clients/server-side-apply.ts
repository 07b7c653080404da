import type { KubeClient, ObjectKey } from '../kubernetes/client.ts';
import { isNotFound } from '../kubernetes/errors.ts';
import type { KubeObject, Stored } from '../kubernetes/objects.ts';
import type { Resource } from '../kubernetes/resources.ts';

export type Outcome = 'created' | 'configured' | 'unchanged';

/** What an apply did, told from the object before and after it. */
export function outcomeOf(before: Stored | undefined, after: Stored): Outcome {
  if (before === undefined || before.metadata.uid !== after.metadata.uid) return 'created';
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured';
}

export async function readIfThere<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource,
  key: ObjectKey,
): Promise<Stored<T> | undefined> {
  try {
    return await kube.get<T>(resource, key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
