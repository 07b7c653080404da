import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { poolIdOf } from '../../../workflows/lib/messages.ts';
import { aFleet, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();

test('a pool that matches its spec adds nothing to its history, whatever is written to its VMs that concerns no decision', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate });
  const workflow = fleet().temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }));
  const length = async (): Promise<number> => (await workflow.describe()).historyLength;
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 3 }));
  const lastProgressAt = { length: -1, at: Date.now() };
  await until(async () => {
    const now = await length();
    if (now !== lastProgressAt.length) Object.assign(lastProgressAt, { length: now, at: Date.now() });
    // Longer than the interval between signals: all that was in flight has arrived.
    expect(Date.now() - lastProgressAt.at).toBeGreaterThan(1_500);
  });

  for (let time = 0; time < 20; time++) {
    await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-1' }, 'merge', {
      metadata: { annotations: { 'example.com/seen': String(time) } },
    });
  }
  // When another, later pool is settled, the watch has also handled the changes above.
  await fleet().createPool(namespace, 'other', { replicas: 1 });
  await fleet().settled(namespace, 'other', ['other-1']);
  expect(await length()).toBe(lastProgressAt.length);

  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-1' }, 'merge', {
    metadata: { labels: { tier: 'gold' } },
  });
  await until(async () => expect(await length()).toBeGreaterThan(lastProgressAt.length));
});
