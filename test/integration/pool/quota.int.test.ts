import { expect, test } from 'vitest';
import { Events, VirtualMachines } from '../../../api/resources.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { setQuota } from '../quota.ts';

const fleet = aFleet({ simulator: false });
test('a full quota is reported in its own words, is not stormed, and the pool continues when it passes', async () => {
  const namespace = await fleet().namespace();
  await setQuota(fleet(), namespace, VirtualMachines, { hard: 7, used: 0 });
  await fleet().createPool(namespace, 'web', { replicas: 100 });
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
      message: expect.stringContaining('exceeded quota') as string,
      lastTransitionTime: expect.any(String) as string,
    });
    expect(status?.replicas).toBe(7);
  });
  expect(await fleet().vmNames(namespace, 'web')).toHaveLength(7);
  const events = (await fleet().kube.list(Events, { namespace })).items;
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'Warning',
      reason: 'FailedCreate',
      note: expect.stringContaining('exceeded quota') as string,
    }),
  );

  await setQuota(fleet(), namespace, VirtualMachines, { hard: 100, used: 7 });
  await until(async () => {
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ replicas: 100 });
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined();
  });
  expect(await fleet().vmNames(namespace, 'web')).toEqual(namesUpTo('web', 100));
});

test('a pool that waits after a refusal is scaled in', async () => {
  const namespace = await fleet().namespace();
  await setQuota(fleet(), namespace, VirtualMachines, { hard: 5, used: 0 });
  await fleet().createPool(namespace, 'web', { replicas: 100 });
  await until(async () => {
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({ status: 'True' });
    expect(await fleet().vmNames(namespace, 'web')).toHaveLength(5);
  });
  await fleet().patchPool(namespace, 'web', { replicas: 2 });
  await until(async () => {
    expect(await fleet().vmNames(namespace, 'web')).toHaveLength(2);
    expect((await fleet().pool(namespace, 'web'))!.status).toMatchObject({ replicas: 2 });
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined();
  });
});
