import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { INSTANCES, TestSets, VMS } from './sets.ts';

const fleet = aFleet({ workers: 0 });

test.each([
  ['VMs', VMS],
  ['VMIs', INSTANCES],
])('%s that are refused are told, tried ever more seldom, and done once they are allowed', async (_, kind) => {
  const sets = new TestSets(fleet, kind);
  const namespace = await fleet().namespace();
  let refuses = true;
  let tries = 0;
  const isOfMember = new RegExp(String.raw`/${kind.members.plural}(/|\?)`);
  const strict = await chaosProxy(fleet().workerKubeconfig, (method, path): Fate => {
    if (!refuses || !isOfMember.test(path) || (method !== 'POST' && method !== 'DELETE')) return 'pass';
    tries++;
    return { status: 403, message: 'the test forbids it' };
  });
  const worker = await fleet().startWorker({ KUBECONFIG: strict.kubeconfig });
  const told = (reason: string) =>
    until(async () =>
      expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
        status: 'True',
        reason,
        message: 'the test forbids it',
      }),
    );
  const seldom = async (): Promise<void> => {
    const before = tries;
    await sleep(5_000);
    expect(tries - before).toBeLessThan(10);
  };
  await sets.create(namespace, 'web', { replicas: 2, template: kind.idle('web') });
  await told('FailedCreate');
  await seldom();
  refuses = false;
  await sets.settled(namespace, 'web', 2);
  await until(async () => expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined());
  refuses = true;
  await sets.patch(namespace, 'web', { replicas: 1 });
  await told('FailedDelete');
  await seldom();
  refuses = false;
  await sets.settled(namespace, 'web', 1);
  await until(async () => expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined());
  await worker.stop();
});
