import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { portionsOf, type Portion } from '../../decisions/shards/portion.ts';
import { busyElsewhere, FormerQueues } from '../../workers/former-queues.ts';

/** A Temporal in which a workflow of the cluster runs on each of these task queues. */
function clientOf(running: readonly string[]): Client {
  async function* list({ query }: { query: string }) {
    expect(query).toContain("DroverCluster = 'east' AND ExecutionStatus = 'Running'");
    for (const taskQueue of running) if (!query.includes(`TaskQueue != '${taskQueue}'`)) yield { taskQueue };
  }
  return { workflow: { list } } as unknown as Client;
}

test('queues of former numbers on which something runs are found, and none that are not drover’s', async () => {
  const running = [
    'drover/east',
    'drover/east/1-of-2',
    'drover/east/3-of-4',
    'drover/east/3-of-4',
    'drover/east/x',
    'a',
  ];
  expect(await busyElsewhere(clientOf(running), 'east', portionsOf(2))).toEqual([{ shard: 3, shards: 4 }]);
  expect(await busyElsewhere(clientOf(running), 'east', portionsOf(1))).toEqual([
    { shard: 1, shards: 2 },
    { shard: 3, shards: 4 },
  ]);
});

test('a former queue is polled while anything runs there, and again if something runs there later', async () => {
  let busy: Portion[] = [];
  const said: string[] = [];
  const stop = new AbortController();
  const former = new FormerQueues({
    find: () => Promise.resolve(busy),
    serve: ({ shard }) => {
      const ended = Promise.withResolvers<void>();
      said.push(`polls ${shard}`);
      const end = (): void => ended.resolve(void said.push(`leaves ${shard}`));
      return { run: () => ended.promise, drain: end, end };
    },
    stop: stop.signal,
    onError: ({ message }) => said.push(message),
  });
  for (const now of [[0, 1], [0, 1], [1], [1, 0]]) {
    busy = now.map((shard) => ({ shard, shards: 8 }));
    await former.look();
    await Promise.resolve();
  }
  expect(said).toEqual(['polls 0', 'polls 1', 'leaves 0', 'polls 0']);
  stop.abort();
  former.drain();
  await former.run();
  expect(said.slice(4)).toEqual(['leaves 1', 'leaves 0']);
});
