import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { portionsOf } from '../../decisions/shards/portion.ts';
import { readConfig } from '../../workers/config.ts';
import { ensureWatch } from '../../workers/watch/cluster-watch.ts';
import { portionOfQueue, taskQueueOf } from '../../workflows/lib/messages.ts';

const IDENTITY = { cluster: 'east', namespace: undefined, uid: 'uid' };

interface Run {
  status: string;
  memo: Record<string, unknown>;
  args?: unknown[];
}

/** A Temporal that knows this run of the watch, or none. */
function temporalWith(run: Run | null) {
  const temporal = { run };
  const describe = () =>
    temporal.run === null
      ? Promise.reject(new WorkflowNotFoundError('none', 'watch/east', undefined))
      : Promise.resolve({ status: { name: temporal.run.status }, memo: temporal.run.memo });
  const start = (_type: string, { memo, args }: Pick<Run, 'memo' | 'args'>) =>
    Promise.resolve(void (temporal.run = { status: 'RUNNING', memo, ...(args && { args }) }));
  return { temporal, client: { workflow: { getHandle: () => ({ describe }), start } } as unknown as Client };
}

const running = (shards = 1): Run => ({
  status: 'RUNNING',
  memo: { clusterUid: 'uid', ...(shards === 1 ? {} : { shards }) },
});

test('without shards the queue, the input and the memo of the watch are as they were before there were any', async () => {
  const { client, temporal } = temporalWith(null);
  await ensureWatch(client, IDENTITY, { shards: 1, ifOther: 'Refuse' });
  expect(temporal.run).toEqual({ status: 'RUNNING', memo: { clusterUid: 'uid' }, args: [{ cluster: 'east' }] });
  expect(portionsOf(1).map((portion) => taskQueueOf('east', portion))).toEqual(['drover/east']);
});

test('a queue is of one portion of one cluster', () => {
  const queues = [1, 2, 8].flatMap((shards) => portionsOf(shards).map((portion) => taskQueueOf('east', portion)));
  expect(queues).toEqual(expect.arrayContaining(['drover/east', 'drover/east/0-of-2', 'drover/east/7-of-8']));
  for (const portion of [{ shards: 1 }, { shards: 8, shard: 7 }])
    expect(portionOfQueue('east', taskQueueOf('east', portion))).toEqual(portion);
  for (const other of [
    'drover/west',
    'drover/east/wait',
    'drover/east/watch',
    'drover/east/01-of-2',
    'drover/west/1-of-2',
  ])
    expect(portionOfQueue('east', other)).toBeNull();
});

describe('a worker that starts with another number than that in force', () => {
  test.each([
    ['of a watch that runs', running(8), 1],
    ['of a watch that is not divided', running(), 8],
    ['of a watch that has ended', { ...running(4), status: 'TERMINATED' }, 8],
  ])('%s waits for the setup, and changes nothing', async (_of, run, shards) => {
    const { client, temporal } = temporalWith(run);
    await expect(ensureWatch(client, IDENTITY, { shards, ifOther: 'Refuse' })).rejects.toThrow(
      `\`drover setup --shards ${shards}\` changes that`,
    );
    expect(temporal.run).toBe(run);
  });
});

test('a worker that serves keeps the number of the last watch, whatever its own', async () => {
  const { client, temporal } = temporalWith({ ...running(8), status: 'TERMINATED' });
  await ensureWatch(client, IDENTITY, { shards: 4, ifOther: 'Leave' });
  expect(temporal.run).toEqual({ ...running(8), args: [{ cluster: 'east', shards: 8 }] });
});

test('the setup changes the number in force if it is given one, there and back', async () => {
  const { client, temporal } = temporalWith(running());
  await ensureWatch(client, IDENTITY, {});
  expect(temporal.run).toEqual(running());
  await ensureWatch(client, IDENTITY, { shards: 8, ifOther: 'Change' });
  expect(temporal.run).toEqual({ ...running(8), args: [{ cluster: 'east', shards: 8 }] });
  await ensureWatch(client, IDENTITY, {});
  expect(temporal.run).toMatchObject(running(8));
  expect(await ensureWatch(client, IDENTITY, { shards: 1, ifOther: 'Change' })).toBe(false);
  expect(temporal.run).toEqual({ ...running(1), args: [{ cluster: 'east' }] });
});

describe('a worker takes', () => {
  test.each([
    ['the cluster, without shards', {}, [{ shards: 1 }]],
    ['all of two shards and what is in no namespace', { DROVER_SHARDS: '2' }, portionsOf(2)],
    ['what it is told', { DROVER_SHARDS: '4', DROVER_TAKES: '3,cluster' }, [{ shards: 4 }, { shards: 4, shard: 3 }]],
  ])('%s', (_what, env, portions) => expect(readConfig(env).portions).toEqual(portions));

  test.each([
    [{ DROVER_SHARDS: '4', DROVER_TAKES: '4' }, 'the shards are 0 to 3'],
    [{ DROVER_TAKES: '0' }, 'there are no shards; DROVER_SHARDS divides the cluster'],
    [{ DROVER_SHARDS: '2', DROVER_NAMESPACE: 'shop' }, 'a worker of chosen namespaces takes no shards'],
  ])('nothing that is not there: %j', (env, why) => expect(() => readConfig(env)).toThrow(why));
});
