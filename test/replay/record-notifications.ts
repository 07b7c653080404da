import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { notificationsIdOf } from '../../workflows/lib/messages.ts';
import { startRecorder } from './recorder.ts';

/**
 * Keeps the history of notifications: a step of a rollout waits for approval, and no longer does. Run `npx node
 * test/replay/record-notifications.ts LABEL` as record.ts.
 */
const { kube, client, keep, end } = await startRecorder('record-notifications.ts');
const pool = { namespace: 'default', name: 'web' };
const reasonOf = async (): Promise<string | undefined> => {
  const { status } = (await kube.get(VirtualMachinePools, pool)) as unknown as StoredPool;
  return status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
};
const until = async (reason: string): Promise<void> => {
  while ((await reasonOf()) !== reason) await sleep(100);
};
const template = (cores: number) => ({
  spec: {
    runStrategy: 'Always',
    template: { spec: { domain: { cpu: { cores }, devices: {}, memory: { guest: '64Mi' } } } },
  },
});

try {
  // oxlint-disable-next-line unicorn/no-thenable -- the word is the user's
  const rollout = { steps: [{ to: 1, then: { approval: {} } }] };
  await kube.create(VirtualMachinePools, { metadata: pool, spec: { replicas: 2, rollout, template: template(1) } });
  await until('Complete');
  await kube.patch(VirtualMachinePools, pool, 'merge', { spec: { template: template(2) } });
  await until('WaitingForApproval');
  await sleep(5_000);
  await kube.patch(VirtualMachinePools, pool, 'merge', { spec: { rollout: { steps: [] } } });
  await until('Complete');
  const handle = client.workflow.getHandle(notificationsIdOf('default'));
  await handle.result();
  await keep({ notifications: handle });
} finally {
  await end();
}
