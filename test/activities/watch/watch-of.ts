import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect } from 'vitest';
import { createWatchActivities } from '../../../activities/watch/watch.ts';
import type { World } from '../forged/world.ts';

const nothing = (): Promise<void> => Promise.resolve();
const none = (): Promise<[]> => Promise.resolve([]);

/** Has a worker watch. `signalled`: the objects whose workflows it has signalled, such as `pool shop/web`, in order. */
export function watchOf({ client, cache }: World): { signalled: string[]; stop: () => Promise<void> } {
  const signalled: string[] = [];
  const stopping = new AbortController();
  const activities = createWatchActivities({
    client: client.asClient,
    cache,
    refreshBudgets: nothing,
    burst: 1,
    signalsOf: (what) => ({
      notify: (_client, { key }) => Promise.resolve(void signalled.push(`${what} ${key}`)),
      signalDeleted: nothing,
      unmanaged: none,
    }),
    childSignals: { lost: none, poolNamespace: () => '', notifyPool: nothing },
    stopping: stopping.signal,
    managedMs: 5,
  });
  const temporal = { withAbortSignal: (_signal: AbortSignal, work: () => unknown) => work() };
  const environment = new MockActivityEnvironment(
    {},
    { logger: new DefaultLogger('ERROR'), client: temporal as unknown as Client },
  );
  const watch = environment.run(() => activities.watchCluster({ cluster: 'default' })) as Promise<void>;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await expect(watch).rejects.toThrow();
  };
  return { signalled, stop };
}
