import { expect, test } from 'vitest';
import { lookAtWorkers } from '../../../clients/doctor/workers.ts';
import { whyPending } from '../../../clients/operations/follow.ts';
import type { Session } from '../../../clients/session/session.ts';
import { missingWorkers, type Poller } from '../../../clients/session/workers.ts';
import { CLIENT } from '../../../clients/version/versions.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';

const pollerOf = (identity: string): object => ({
  identity,
  lastAccessTime: { seconds: Date.now() / 1_000 },
  deploymentOptions: { buildId: CLIENT.client } satisfies { buildId: Poller['version'] },
});

/** A session with a cluster of so many shards, whose task queues these workers poll. */
function sessionOf(shards: number, polled: Record<string, string[]>): Session {
  const memo = { clusterUid: 'uid', ...(shards === 1 ? {} : { shards }) };
  const describe = () => Promise.resolve({ status: { name: 'RUNNING' }, memo });
  const describeTaskQueue = ({ taskQueue }: { taskQueue: { name: string } }) =>
    Promise.resolve({ pollers: (polled[taskQueue.name] ?? []).map(pollerOf) });
  const connection = {
    withDeadline: (_at: number, call: () => unknown) => call(),
    workflowService: { describeTaskQueue },
  };
  const session = {
    cluster: 'east',
    kube: () => Promise.resolve({ get: () => Promise.reject(new Error('there is no Lease')) }),
    namespace: () => Promise.resolve('shop'),
    temporal: () => Promise.resolve({ client: { workflow: { getHandle: () => ({ describe }) } }, connection }),
    knowsTemporal: () => Promise.resolve(true),
    untilAnswered: <T>(call: Promise<T>) => call,
  };
  return session as unknown as Session;
}

const both = ['a', 'b'];

test('a task queue that no worker polls is named, among those of shards', async () => {
  const polled = { 'drover/east': both, 'drover/east/0-of-2': ['a'] };
  expect(await lookAtWorkers(sessionOf(2, polled))).toEqual([
    expect.objectContaining({
      outcome: 'Failed',
      message: 'no worker polls the task queue drover/east/1-of-2: nothing happens there',
    }),
    expect.objectContaining({
      outcome: 'Warning',
      message: 'one worker polls the task queue drover/east/0-of-2: while it is replaced, nothing happens there',
    }),
  ]);
});

test('a namespace lacks workers if none polls the task queue of its shard', async () => {
  // `shop` is in the second of two shards.
  expect(await missingWorkers(sessionOf(2, { 'drover/east': both, 'drover/east/0-of-2': both }), 'shop')).toContain(
    'no drover worker polls the task queue drover/east/1-of-2',
  );
  expect(await missingWorkers(sessionOf(2, { 'drover/east/1-of-2': both }), 'shop')).toBeUndefined();
  expect(await missingWorkers(sessionOf(1, { 'drover/east': both }), 'shop')).toBeUndefined();
});

test('a cluster-wide operation lacks workers if none takes what is in no namespace, whoever takes the shards', async () => {
  const operation = { metadata: { name: 'restart', uid: '1' } } as StoredOperation;
  expect(await whyPending(sessionOf(2, { 'drover/east/0-of-2': both, 'drover/east/1-of-2': both }), operation)).toBe(
    'no drover worker polls the task queue drover/east: nothing happens until one does; `drover worker` starts one',
  );
  expect(await whyPending(sessionOf(2, { 'drover/east': both }), operation)).toBeUndefined();
});
