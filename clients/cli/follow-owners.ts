import type { Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure } from './failure.ts';
import type { OwnerKind } from './kinds.ts';
import { aboutKind } from './known-kind.ts';
import type { Owner } from './objects.ts';
import { noteBrokenWatch } from './output.ts';

export interface Watched {
  kube: KubeClient;
  resource: Resource;
  namespace: string;
  /** Stops watching: its reason is thrown. */
  signal?: AbortSignal | undefined;
}

/**
 * Calls `look` with all objects of a kind in a namespace, by UID, and again after each change, until it returns true.
 * Throws what `look` throws, and what keeps it from reading them at all; a watch that breaks later is started again.
 */
export async function watchUntil<T extends Stored>(
  { kube: client, resource, namespace, signal }: Watched,
  look: (present: ReadonlyMap<string, T>) => boolean,
): Promise<void> {
  signal?.throwIfAborted();
  const done = Promise.withResolvers<void>();
  let isReady = false;
  const attempt = (): void => {
    if (!isReady) return;
    try {
      if (look(new Map([...watch.values()].map((object) => [object.metadata.uid, object])))) done.resolve();
    } catch (error) {
      done.reject(error);
    }
  };
  const watch = new ListWatch<T, T>({
    client,
    resource,
    namespace,
    view: (object) => object,
    onChange: attempt,
    onError: (error) => (isReady ? noteBrokenWatch(error) : done.reject(aboutKind(resource, error))),
  });
  const abort = (): void => done.reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort);
  try {
    void watch
      .start()
      .ready()
      .then(() => {
        isReady = true;
        attempt();
      });
    await done.promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    await watch.stop();
  }
}

export interface Followed<O extends Owner> extends Pick<Watched, 'kube' | 'signal'> {
  kind: OwnerKind;
  /** The objects as last read. One that is deleted, or replaced by another of its name, is a `Failure`. */
  owners: Stored<O>[];
}

/**
 * Calls `look` with the pools or replica sets as given, and again after each change, until it returns true. All must be
 * in one namespace.
 */
export async function followOwners<O extends Owner>(
  { kube, kind, owners, signal }: Followed<O>,
  look: (owners: Stored<O>[]) => boolean,
): Promise<void> {
  if (owners.length === 0 || look(owners)) return;
  const namespace = owners[0]!.metadata.namespace!;
  await watchUntil<Stored<O>>({ kube, resource: kind.resource, namespace, signal }, (present) =>
    look(
      owners.map(({ metadata: { uid, name } }) => {
        const now = present.get(uid);
        if (now === undefined) throw new Failure(`${kind.noun} ${name} is gone`);
        return now;
      }),
    ),
  );
}
