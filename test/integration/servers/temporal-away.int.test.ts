import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { poolIdOf } from '../../../workflows/messages.ts';
import { aFleet, until } from '../fleet.ts';

const fleet = aFleet({ simulator: false, ownStack: true, workers: 0 });

test('Temporal is away for longer than a signal is tried: the same worker goes on when it is back, with what changed meanwhile', async () => {
  const worker = await fleet().startWorker();
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2 });
  await fleet().settled(namespace, 'web', ['web-1', 'web-2']);
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  const last = { length: -1, at: 0 };
  await until(async () => {
    const { historyLength: length } = await workflow.describe();
    if (length !== last.length) Object.assign(last, { length, at: Date.now() });
    // Longer than the interval between signals: the watch of the API server sends the next one at once.
    expect(Date.now() - last.at).toBeGreaterThan(1_500);
  });

  await fleet().stack.halt('temporal');
  await fleet().patchPool(namespace, 'web', { replicas: 4 });
  const log = join(fleet().stack.state, 'logs', `test-worker-${worker.pid}.log`);
  await until(async () => expect(readFileSync(log, 'utf8')).toContain('a pool could not be signalled'));
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3', 'web-4']);
  expect(await worker.stop()).toBe(0);
});
