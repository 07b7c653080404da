import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure } from '../cli/failure.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { aboutKind } from '../cli/known-kind.ts';
import { noteBrokenWatch } from '../cli/output.ts';
import type { Owner } from './objects.ts';

export interface Followed<O extends Owner> {
  kube: KubeClient;
  kind: OwnerKind;
  /** The objects as last read. One that is deleted, or replaced by another of its name, is a `Failure`. */
  owners: Stored<O>[];
  /** Stops following: its reason is thrown. */
  signal?: AbortSignal | undefined;
}

/**
 * Calls `look` with the pools or replica sets as given, and again after each change, until it returns true. All must be
 * in one namespace.
 */
export async function followOwners<O extends Owner>(
  { kube, kind, owners, signal }: Followed<O>,
  look: (owners: Stored<O>[]) => boolean,
): Promise<void> {
  const gone = (name: string): Failure => new Failure(`${kind.noun} ${name} is gone`);
  if (owners.length === 0 || look(owners)) return;
  signal?.throwIfAborted();
  const newest = new Map(owners.map((owner) => [owner.metadata.name, owner]));
  const done = Promise.withResolvers<void>();
  let isReady = false;
  const watch = new ListWatch<Stored<O>, Stored<O>>({
    client: kube,
    resource: kind.resource,
    namespace: owners[0]!.metadata.namespace!,
    view: (owner) => owner,
    onChange: (_key, before, after) => {
      const { name, uid } = (after ?? before!).metadata;
      const known = newest.get(name);
      if (known === undefined) return;
      if (after === undefined || after.metadata.uid !== known.metadata.uid) {
        if (uid === known.metadata.uid || after !== undefined) done.reject(gone(name));
        return;
      }
      newest.set(name, after);
      attempt();
    },
    onError: (error) => (isReady ? noteBrokenWatch(error) : done.reject(aboutKind(kind.resource, error))),
  });
  const attempt = (): void => {
    try {
      if (look([...newest.values()])) done.resolve();
    } catch (error) {
      done.reject(error);
    }
  };
  const abort = (): void => done.reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort);
  try {
    void watch
      .start()
      .ready()
      .then(() => {
        isReady = true;
        const present = new Set([...watch.values()].map(({ metadata }) => metadata.uid));
        for (const { metadata } of newest.values()) if (!present.has(metadata.uid)) done.reject(gone(metadata.name));
      });
    await done.promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    await watch.stop();
  }
}
