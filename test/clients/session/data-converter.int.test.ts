import { resolve } from 'node:path';
import { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { loadDataConverter } from '../../../workers/connection/data-converter.ts';
import { operationIdOf, poolIdOf, taskQueueOf } from '../../../workflows/lib/messages.ts';
import { aFleet, haltedTemplate } from '../../integration/fleet.ts';
import { drover, nowhere } from '../drover.ts';

const fleet = aFleet({ workers: 0 });
const DROVER_DATA_CONVERTER = resolve(import.meta.dirname, '../../fixtures/codec.js');

test('payload codecs leave nothing of a pool in plain text in Temporal, and drover reads it all the same', async () => {
  await fleet().startWorker({ DROVER_DATA_CONVERTER });
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'secretive', { replicas: 2, template: haltedTemplate });
  await fleet().settled(namespace, 'secretive', ['secretive-1', 'secretive-2']);
  const handle = fleet().temporal.client.workflow.getHandle(
    poolIdOf({ cluster: 'default', namespace, name: 'secretive' }),
  );
  const { events } = await handle.fetchHistory();
  const stored = (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled, markerRecordedEventAttributes: marker }) => [
      ...(scheduled?.input?.payloads ?? []),
      ...Object.values(marker?.details ?? {}).flatMap(({ payloads }) => payloads ?? []),
    ],
  );
  const plain = stored
    .map(({ data }) => Buffer.from(data ?? []).toString())
    .filter((text) => text.includes('secretive-'));
  expect(plain).toEqual([]);
  const env = { ...nowhere, ...fleet().stack.env, DROVER_DATA_CONVERTER };
  const { code, stdout } = await drover(['history', 'pool', 'secretive', '-n', namespace], env);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/secretive-1/) as string });

  const { connection } = fleet().temporal.client;
  const client = new Client({ connection, dataConverter: (await loadDataConverter(DROVER_DATA_CONVERTER))! });
  // An activity fails first, and the workflow with it.
  const operation = { namespace, name: 'made-up', uid: 'made-up' };
  const key = { cluster: 'default', ...operation };
  const failed = await client.workflow.start('operation', {
    workflowId: operationIdOf(key),
    taskQueue: taskQueueOf('default'),
    args: [key],
  });
  const why = 'there is no VirtualMachineOperation';
  await expect(failed.result()).rejects.toMatchObject({
    cause: { message: expect.stringContaining(why) as string },
  });
  const texts: unknown[] = [];
  JSON.stringify(await failed.fetchHistory(), (key, value: unknown) => {
    if (key === 'message' || key === 'stackTrace') texts.push(value);
    return value;
  });
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) expect(['Encoded failure', 'Activity task failed', '']).toContain(text);
});
