import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { VirtualMachineInstances } from '../../../api/resources.ts';
import { seeded } from '../../seeded.ts';
import { soak, testOneOf } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { INSTANCES, instanceTemplateOf, mostVms, TestSets, VMS, type Kind } from './sets.ts';

const fleet = aFleet({ workers: 0 });
/** Members of a set that a worker dies in the middle of making. */
const BURST = soak(60, 30);

async function diesInBurst(kind: Kind): Promise<void> {
  const sets = new TestSets(fleet, kind);
  const namespace = await fleet().namespace();
  const watched = await mostVms(fleet(), namespace, kind.members);
  const chance = seeded(7);
  const unruly = await chaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method !== 'POST') return 'pass';
    await sleep(100 + chance() * 200);
    return chance() < 0.2 ? 'drop-answer' : 'pass';
  });
  const env = { KUBECONFIG: unruly.kubeconfig };
  let worker = await fleet().startWorker(env);
  await sets.create(namespace, 'web', { replicas: BURST, template: kind.idle('web') });
  for (const moment of soak([5, 30], [10])) {
    await until(async () => expect(watched.made()).toBeGreaterThan(moment));
    await worker.kill();
    worker = await fleet().startWorker(env);
  }
  await sets.settled(namespace, 'web', BURST);
  expect(watched.most()).toBe(BURST);
  expect(watched.made()).toBe(BURST);
  await worker.stop();
}

async function faultsOfAllKinds(kind: Kind, expectBound: (most: number, replicas: number) => void): Promise<void> {
  const sets = new TestSets(fleet, kind);
  const namespace = await fleet().namespace();
  const watched = await mostVms(fleet(), namespace, kind.members);
  const chance = seeded(11);
  let faults = 0;
  let isUnruly = true;
  const fates: Fate[] = ['drop-answer', 'drop-call', { status: 500 }, { status: 429, retryAfter: 1 }, { status: 409 }];
  const unruly = await chaosProxy(fleet().workerKubeconfig, async (method, path): Promise<Fate> => {
    if (!isUnruly || path.includes('watch=true')) return 'pass';
    await sleep(chance() * 60);
    if (chance() > (method === 'GET' ? 0.1 : 0.35)) return 'pass';
    faults++;
    return fates[Math.floor(chance() * fates.length)]!;
  });
  const env = { KUBECONFIG: unruly.kubeconfig };
  let worker = await fleet().startWorker(env);
  const second = await fleet().startWorker(env);
  const replicas = 12;
  const [enough, killEvery, freezeEvery] = soak([500, 25, 60], [40, 8, Infinity]);
  const thaw = (): boolean => process.kill(second.pid, 'SIGCONT');
  await sets.create(namespace, 'web', { replicas, template: kind.idle('web') });
  for (let round = 0; faults < enough; round++) {
    await sleep(300);
    const members = await sets.members(namespace, 'web');
    expectBound(members.length, replicas);
    for (const { metadata } of members.slice(0, 4))
      await fleet()
        .kube.delete(kind.members, metadata)
        .catch(() => undefined);
    if (round % 10 === 4) unruly.cut();
    if (round % killEvery === killEvery - 3) {
      await worker.kill();
      worker = await fleet().startWorker(env);
    }
    // Another worker takes over its activities meanwhile.
    if (round % freezeEvery === freezeEvery / 2) process.kill(second.pid, 'SIGSTOP');
    if (round % freezeEvery === freezeEvery * 0.75) thaw();
  }
  isUnruly = false;
  thaw();
  await sets.settled(namespace, 'web', replicas);
  expectBound(watched.most(), replicas);
  expect(faults).toBeGreaterThanOrEqual(enough);
  await Promise.all([worker.stop(), second.stop()]);
}

testOneOf(
  {
    'a set never has more VMs than it wants if a worker dies in a burst, while answers are lost': () =>
      diesInBurst(VMS),
    'a set never has more VMIs than it wants if a worker dies in a burst, while answers are lost': () =>
      diesInBurst(INSTANCES),
    'a set never has more VMs than it wants, and finally as many, amid faults of all kinds while users delete VMs':
      () => faultsOfAllKinds(VMS, (most, replicas) => expect(most).toBeLessThanOrEqual(replicas)),
    // VMIs that leave are replaced at once.
    'a set finally has as many VMIs as it wants, amid faults of all kinds while users delete VMIs': () =>
      faultsOfAllKinds(INSTANCES, () => {}),
  },
  { timeout: soak(900_000, 300_000) },
);

test('the delay after starts that fail outlives the worker', async () => {
  const instances = new TestSets(fleet, INSTANCES);
  const namespace = await fleet().namespace();
  const watched = await mostVms(fleet(), namespace, VirtualMachineInstances);
  const template = instanceTemplateOf('bad', { 'sim.drover.dev/fail-starts': 'always' });
  const told = (words: string): Promise<void> =>
    instances.had(namespace, 'bad', 'ReplicaFailure', {
      reason: 'FailedStart',
      message: expect.stringContaining(words) as string,
    });
  const first = await fleet().startWorker();
  const twice = told('2 times in a row');
  const thrice = told('3 times in a row');
  await instances.create(namespace, 'bad', { replicas: 3, template });
  await twice;
  await first.kill();
  const second = await fleet().startWorker();
  await thrice;
  expect(watched.made()).toBeLessThan(12);
  await second.stop();
});
