import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isTransient } from '../../kubernetes/errors.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure } from './failure.ts';
import type { Kind } from './kinds.ts';
import { printBrokenWatch } from './print.ts';

export interface Watched {
  kube: KubeClient;
  resource: Resource;
  /** Undefined for a kind without namespaces. */
  namespace: string | undefined;
  /** Stops watching: its reason is thrown. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs a wait that ends when it is aborted after this long, in milliseconds; 0: never. Resolves to false if it was too
 * late.
 */
export async function inTime(
  timeoutMs: number,
  wait: (signal: AbortSignal | undefined) => Promise<void>,
): Promise<boolean> {
  const signal = timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs);
  try {
    await wait(signal);
    return true;
  } catch (error) {
    if (signal?.aborted === true) return false;
    throw error;
  }
}

/** Resolves once the signal is aborted. */
export const untilAborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
};

/** Looks until something is found, or this long has passed: then undefined. */
export async function lookUntil<T>(
  look: () => Promise<T | undefined>,
  { withinMs, everyMs }: { withinMs: number; everyMs: number },
): Promise<T | undefined> {
  for (const end = Date.now() + withinMs; ; await sleep(everyMs)) {
    const found = await look();
    if (found !== undefined || Date.now() > end) return found;
  }
}

/**
 * Calls `look` with all objects of a kind in a namespace, by UID, and again after each change, until it returns true.
 * Throws what `look` throws, and what keeps it from reading them at all; it waits for a server that is away, since its
 * callers have just had answers, and a watch that breaks later is started again.
 */
export async function watchUntil<T extends Stored>(
  { kube: client, resource, namespace, signal }: Watched,
  look: (present: ReadonlyMap<string, T>) => boolean,
): Promise<void> {
  const { promise: found, resolve, reject } = Promise.withResolvers<void>();
  let isReady = false;
  const lookAgain = (): void => {
    try {
      if (isReady && look(new Map([...watch.values()].map((object) => [object.metadata.uid, object])))) resolve();
    } catch (error) {
      reject(error);
    }
  };
  const watch = new ListWatch<T, T>({
    client,
    resource,
    namespace,
    view: (object) => object,
    onChange: lookAgain,
    onError: (error) => (isReady || isTransient(error) ? printBrokenWatch(error) : reject(error)),
  });
  const abort = (): void => reject(signal?.reason);
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort);
  try {
    void watch
      .start()
      .ready()
      .then(() => {
        isReady = true;
        lookAgain();
      });
    await found;
  } finally {
    signal?.removeEventListener('abort', abort);
    await watch.stop();
  }
}

export interface Followed<O extends KubeObject> extends Pick<Watched, 'kube' | 'signal'> {
  kind: Kind;
  /** The objects as last read. One that is deleted, or replaced by another of its name, is a `Failure`. */
  owners: Stored<O>[];
}

/**
 * Calls `look` with the objects as given, and again after each change, until it returns true. All must be
 * in one namespace.
 */
export async function followOwners<O extends KubeObject>(
  { kube, kind, owners, signal }: Followed<O>,
  look: (owners: Stored<O>[]) => boolean,
): Promise<void> {
  if (owners.length === 0 || look(owners)) return;
  const namespace = owners[0]!.metadata.namespace;
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
