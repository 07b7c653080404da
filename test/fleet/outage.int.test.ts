import { expect, test } from 'vitest';
import { aFleet, namesUpTo, runningTemplate, until } from './fleet.ts';

const fleet = aFleet({ ephemeral: false });

const growing = async (namespace: string, replicas: number, from: number): Promise<void> => {
  await fleet().createPool(namespace, 'web', { replicas, template: runningTemplate });
  await until(async () => expect((await fleet().vms(namespace)).length).toBeGreaterThan(from));
  expect((await fleet().vms(namespace)).length).toBeLessThan(replicas);
};
const ready = (namespace: string, replicas: number): Promise<void> =>
  until(async () => {
    expect(await fleet().vmNames(namespace, 'web')).toEqual(namesUpTo('web', replicas));
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ replicas, readyReplicas: replicas });
  });

test('Temporal is killed in the middle of a burst, and comes back: the pool goes on where it was', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, 150, 20);
  fleet().stack.kill('temporal', 'SIGKILL');
  await fleet().stack.restart('temporal');
  await ready(namespace, 150);
});

test('the API server is killed in the middle of a burst, and comes back: every VM once', async () => {
  const namespace = await fleet().namespace();
  await growing(namespace, 150, 20);
  fleet().stack.kill('kube-apiserver', 'SIGKILL');
  await fleet().stack.restart('kube-apiserver');
  await ready(namespace, 150);
  await fleet().patchPool(namespace, 'web', { replicas: 3 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(3));
});
