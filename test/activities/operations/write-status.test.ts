import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { writeOperationStatus } from '../../../activities/operations/write-status.ts';
import { VirtualMachineOperations } from '../../../api/resources.ts';
import type { ObservedRun } from '../../../decisions/operations/status.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { World } from '../forged/world.ts';

test('the end of an operation is an Event on it, under one name however often it is written', async () => {
  const { client, server, metadata } = await madeOperation();
  const write = (end: ObservedRun['end']): Promise<unknown> => {
    const known = server.get(VirtualMachineOperations, metadata) as StoredOperation;
    const ref = { namespace: metadata.namespace!, name: metadata.name, uid: metadata.uid };
    return new MockActivityEnvironment().run(() =>
      writeOperationStatus(client.asClient, ref, known, { progress: null, end, workflowId: 'operation' }),
    );
  };
  await write(null);
  expect(client.events).toEqual([]);
  const end = { reason: 'NotFound', message: 'there is no VM web-1' } as const;
  await write(end);
  await write(end);
  expect(client.events).toMatchObject([1, 2].map(() => ({ reason: 'OperationFailed', type: 'Warning' })));
  expect(new Set(client.events.map((event) => event.metadata.name)).size).toBe(1);
});

async function madeOperation() {
  const world = new World();
  const { metadata } = world.operation(['web-1']);
  await world.start();
  return { client: world.client, server: world.server, metadata };
}
