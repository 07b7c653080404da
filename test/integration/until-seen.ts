import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { UNTIL_MS } from './fleet.ts';

/**
 * Resolves with the first version of the object, from the present one on, for which the assertions hold. A watch tells
 * of each version, however soon the next one follows: a poll of a busy machine sees only some of them. Throws what the
 * last version was not after as long as `until` waits.
 */
export async function untilSeen<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  { namespace, name }: ObjectKey,
  assertions: (object: Stored<T>) => void,
): Promise<Stored<T>> {
  const seen = Promise.withResolvers<Stored<T>>();
  let why: unknown = new Error(`there is no ${resource.kind} ${name}`);
  const watch = new ListWatch<T, void>({
    client,
    resource,
    namespace,
    view: (object) => {
      if (object.metadata.name !== name) return;
      try {
        assertions(object);
        seen.resolve(object);
      } catch (error) {
        why = error;
      }
    },
  }).start();
  const timer = setTimeout(() => seen.reject(why), UNTIL_MS);
  try {
    return await seen.promise;
  } finally {
    clearTimeout(timer);
    await watch.stop();
  }
}
