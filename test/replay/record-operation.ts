import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualMachineOperations, VirtualMachineOperationSchedules, VirtualMachines } from '../../api/resources.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import { operationIdOf, scheduleIdOf } from '../../workflows/lib/messages.ts';
import { startRecorder } from './recorder.ts';

/**
 * Keeps the history of an operation that is made paused, carried out, and deleted after its end, and of a schedule that
 * makes one and is deleted. Run `npx node
 * test/replay/record-operation.ts LABEL` as record.ts.
 */
const { kube, client, keep, end } = await startRecorder('record-operation.ts');
const at = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(100);
};

try {
  const template = { spec: { domain: { devices: {}, memory: { guest: '64Mi' } } } };
  await kube.create(VirtualMachines, { metadata: at('db'), spec: { runStrategy: 'Halted', template } });
  await sleep(1_100);
  const { metadata } = await kube.create(VirtualMachineOperations, {
    metadata: at('start'),
    spec: { action: 'Start', vms: { names: ['db'] }, paused: true },
  });
  const read = async (): Promise<StoredOperation['status']> =>
    ((await kube.get(VirtualMachineOperations, at('start'))) as unknown as StoredOperation).status;
  const set = (spec: object): Promise<unknown> => kube.patch(VirtualMachineOperations, at('start'), 'merge', { spec });
  await until(async () => (await read())?.conditions?.some(({ reason }) => reason === 'PausedBySpec') === true);
  await set({ paused: false, ttlSecondsAfterFinished: 2 });
  const handle = client.workflow.getHandle(operationIdOf({ cluster: 'default', ...at('start'), uid: metadata.uid }));
  await handle.result();
  const operationTemplate = { spec: { action: 'Stop', vms: { names: ['db'] } } };
  const made = await kube.create(VirtualMachineOperationSchedules, {
    metadata: at('stop'),
    spec: { schedule: '* * * * *', operationTemplate },
  });
  const schedule = client.workflow.getHandle(
    scheduleIdOf({ cluster: 'default', ...at('stop'), uid: made.metadata.uid }),
  );
  const stopped = async (): Promise<StoredSchedule['status']> =>
    ((await kube.get(VirtualMachineOperationSchedules, at('stop'))) as unknown as StoredSchedule).status;
  await until(async () => (await stopped())?.lastSuccessfulTime !== undefined);
  await kube.delete(VirtualMachineOperationSchedules, at('stop'));
  await schedule.result();
  await keep({ operation: handle, 'operation-schedule': schedule });
} finally {
  await end();
}
