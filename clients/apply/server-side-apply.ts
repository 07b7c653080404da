import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';

export type Outcome = 'created' | 'configured' | 'unchanged';

/** Returns what an apply did, judged by the object before and after it. */
export function outcomeOf(before: Stored | undefined, after: Stored): Outcome {
  if (before === undefined || before.metadata.uid !== after.metadata.uid) return 'created';
  const isSame =
    before.metadata.resourceVersion === after.metadata.resourceVersion &&
    isDeepStrictEqual(contentOf(before), contentOf(after));
  return isSame ? 'unchanged' : 'configured';
}

/** A dry run changes the returned object, but not its resource version. */
function contentOf({ metadata: { managedFields: _managedFields, ...metadata }, ...rest }: Stored): object {
  return { ...rest, metadata };
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
