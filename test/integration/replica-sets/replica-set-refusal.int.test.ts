import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sample } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { KINDS, TestSets } from './sets.ts';

const fleet = aFleet({ workers: 0 });

test.each(sample(KINDS))(
  'refused %s are reported, tried less and less often, and done once they are allowed',
  async (_, kind) => {
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
  },
);

test('an API server that is busy for long is reported, and the sets continue once it is not', async () => {
  const namespace = await fleet().namespace();
  let isBusy = true;
  const isOfMember = new RegExp(`/(${KINDS.map(([, { members }]) => members.plural).join('|')})(\\?|$)`);
  const busy = await chaosProxy(fleet().workerKubeconfig, (method, path): Fate => {
    const isRefused = isBusy && method === 'POST' && isOfMember.test(path);
    return isRefused ? { status: 429, retryAfter: 1 } : 'pass';
  });
  const worker = await fleet().startWorker({ KUBECONFIG: busy.kubeconfig });
  const all = KINDS.map(([, kind]) => ({ kind, sets: new TestSets(fleet, kind) }));
  for (const { kind, sets } of all) await sets.create(namespace, 'web', { replicas: 2, template: kind.idle('web') });
  for (const { sets } of all)
    await until(async () =>
      expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
        status: 'True',
        reason: 'FailedCreate',
        message: expect.stringContaining('the test answers 429') as string,
      }),
    );
  isBusy = false;
  for (const { sets } of all) {
    await sets.settled(namespace, 'web', 2);
    await until(async () => expect(await sets.condition(namespace, 'web', 'ReplicaFailure')).toBeUndefined());
  }
  await worker.stop();
});
