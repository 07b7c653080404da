import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Cluster } from './cluster.ts';
import type { Store } from './store.ts';

export const hasFinalizer = (object: KubeObject, name: string): boolean =>
  object.metadata.finalizers?.includes(name) ?? false;

/**
 * Removes a finalizer. The patch carries the resourceVersion: a race with another writer is a conflict, and is retried.
 */
export async function removeFinalizer<T extends KubeObject>(
  { client }: Cluster,
  store: Store<T>,
  object: Stored<T>,
  name: string,
): Promise<Stored<T>> {
  const { namespace, resourceVersion, finalizers = [] } = object.metadata;
  const patch = { metadata: { resourceVersion, finalizers: finalizers.filter((other) => other !== name) } };
  return store.remember(
    await client.patch<T>(store.resource, { namespace, name: object.metadata.name }, 'merge', patch),
  );
}
