import { beforeAll, expect, test } from 'vitest';
import { soak } from '../../soak.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ ownStack: true, simulator: false, workers: 0 });
const VMS = soak(300, 40);
/** The worker makes one VM after another, so that the kill comes in the middle, even on a fast machine. */
beforeAll(async () => void (await fleet().startWorker({ DROVER_CONCURRENCY: '1' })));

const growing = async (namespace: string, replicas: number, from: number): Promise<void> => {
  await fleet().createPool(namespace, 'web', { replicas });
  let there = 0;
  await until(async () => expect((there = (await fleet().vms(namespace)).length)).toBeGreaterThan(from));
  expect(there).toBeLessThan(replicas);
};

test('Temporal is killed in the middle of a burst, and comes back: the pool goes on where it was', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('temporal', 'SIGKILL');
  await fleet().stack.restart('temporal');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
});

test('the API server is killed in the middle of a burst and restarted: every VM is created exactly once', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, VMS, VMS / 4);
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await fleet().stack.restart('kube-apiserver');
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(3));
});
