import { expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { abort } from '../../../workflows/messages.ts';
import { chaosProxy } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { Machines, NEW, OLD } from './machine-types.ts';

/** Machine type transitions of VMs that drover's pools own. */
const fleet = aFleet({ workers: 0 });

/** Starts a worker for this test only. */
async function aWorker(env: Record<string, string> = {}): Promise<void> {
  const worker = await fleet().startWorker(env);
  onTestFinished(() => worker.kill());
}

function typed(type: string, bootTime = '100ms'): PoolSpec['template'] {
  const { spec } = structuredClone(runningTemplate);
  const vmi = spec.template as { metadata: { annotations: object }; spec: { domain: object } };
  Object.assign(vmi.metadata.annotations, { 'sim.drover.dev/boot-time': bootTime });
  vmi.spec.domain = { ...vmi.spec.domain, machine: { type } };
  return { spec };
}

/** Creates a pool named `web`; resolves when its VMs are ready and its rollout is complete. */
async function aPool(machines: Machines, spec: Partial<PoolSpec>): Promise<void> {
  const { namespace } = machines;
  const { replicas = 3 } = spec;
  await fleet().createPool(namespace, 'web', { template: typed(OLD), ...spec, replicas });
  await machines.ready(namesUpTo('web', replicas));
  await until(async () => expect((await fleet().condition(namespace, 'web', 'Progressing'))?.reason).toBe('Complete'));
}

const templateType = async ({ namespace }: Machines): Promise<unknown> => {
  const { spec } = (await fleet().pool(namespace, 'web'))!.spec.template;
  return (spec.template as { spec: { domain: { machine?: { type?: string } } } }).spec.domain.machine?.type;
};

/** Waits until all VMIs have this type: the last one may still be booting when the transition is done. */
const guestsAre = (machines: Machines, type: string, count = 4): Promise<void> =>
  until(async () => {
    const guests = await Promise.all(namesUpTo('web', count).map((name) => machines.guest(name)));
    expect(guests.map((guest) => guest?.status?.machine?.type)).toEqual(guests.map(() => type));
  });

async function watched({ namespace }: Machines): Promise<ReadinessWatch> {
  const watch = await ReadinessWatch.start(fleet().kube, namespace);
  onTestFinished(() => watch.stop());
  await watch.startRecording();
  return watch;
}

test('of a pool the template is changed, and the pool brings its VMs to it within its own budget', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 4, maxUnavailable: 1, template: typed(OLD, '1s') });
  const watch = await watched(machines);
  const transition = await machines.change({ restartNow: true, maxRestarts: 4 });
  await transition.until({ counts: { inPools: expect.any(Number) as number }, phase: 'Waiting' });
  const result = await transition.result();
  expect(result).toMatchObject({ phase: 'Complete', failures: 0, restarted: 0, counts: { inPools: 0 } });
  expect(await templateType(machines)).toBeUndefined();
  for (const name of namesUpTo('web', 4)) expect(await machines.type(name)).toBe('q35');
  await guestsAre(machines, NEW);
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(1);
  expect(namesUpTo('web', 4).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 1, 1]);

  const undo = await machines.change({ scope: { glob: '*', undoes: transition.id } });
  expect(await undo.result()).toMatchObject({ phase: 'Complete' });
  expect(await templateType(machines)).toBe(OLD);
  await guestsAre(machines, OLD);
});

test('a pool of which some VMs were not chosen is left, and said so', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 2 });
  const result = await (await machines.change({ scope: { names: ['web-1'] } })).result();
  expect(result).toMatchObject({ phase: 'Complete', patched: 0, counts: { left: 1 } });
  expect(result.passedOver).toMatchObject([
    { why: expect.stringContaining(`pool ${machines.key('web')} has VMs that were not chosen`), isWish: true },
  ]);
  expect(await templateType(machines)).toBe(OLD);
});

test('a pool whose template cannot be changed is told as failed once, its VMs are left, and the others are changed', async () => {
  const machines = await Machines.of(fleet(), { other: { runStrategy: 'Halted' } });
  let fails = false;
  const proxy = await chaosProxy(fleet().workerKubeconfig, (method, path) =>
    fails && method === 'PATCH' && path.includes('/virtualmachinepools/web?') ? { status: 422 } : 'pass',
  );
  await aWorker({ KUBECONFIG: proxy.kubeconfig });
  await aPool(machines, { replicas: 1 });
  fails = true;
  const result = await (await machines.change()).result();
  expect(result).toMatchObject({
    phase: 'Failed',
    patched: 1,
    failures: 1,
    failed: [{ vm: `pool ${machines.key('web')}`, why: expect.stringContaining('the test answers 422') }],
  });
  expect(await machines.type('web-1')).toBe(OLD);
});

test('a paused pool gets its new template, and rolls it once it goes on; what keeps it is told', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 2, maxUnavailable: 1 });
  const guests = await machines.guests();
  await fleet().patchPool(machines.namespace, 'web', { paused: true });
  const transition = await machines.change({ restartNow: true });
  await transition.until({
    phase: 'Waiting',
    counts: { inPools: 2 },
    passedOver: [{ why: `its pool ${machines.key('web')} is paused`, isWish: false, count: 2 }],
  });
  expect(await templateType(machines)).toBeUndefined();
  expect(await machines.guests()).toEqual(guests);
  await fleet().patchPool(machines.namespace, 'web', { paused: false });
  expect(await transition.result()).toMatchObject({ phase: 'Complete', restarted: 0, failures: 0, passedOver: [] });
  await guestsAre(machines, NEW, 2);
});

test('a pool that leaves restarts to people is waited for, and that is said', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 1, updateStrategy: { opportunistic: {} } });
  const transition = await machines.change({ restartNow: true });
  await transition.until({
    phase: 'Waiting',
    counts: { inPools: 1 },
    passedOver: [{ why: `its pool ${machines.key('web')} leaves restarts to its owner` }],
  });
  await machines.power('web-1', 'stop');
  expect(await transition.result()).toMatchObject({ phase: 'Complete', restarted: 0, failures: 0, passedOver: [] });
  expect(await machines.type('web-1')).toBe('q35');
  // KubeVirt doesn't start a VM while its previous VMI exists.
  await until(async () => expect(await machines.guest('web-1')).toBeUndefined());
  await machines.power('web-1', 'start');
  await guestsAre(machines, NEW, 1);
});

test('a pool that is rolling out something else goes on with both at once, within its budget', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 3, maxUnavailable: 1 });
  const watch = await watched(machines);
  // The rollout reaches the last VM only after the transition has begun.
  const template = typed(OLD, '4s');
  await fleet().patchPool(machines.namespace, 'web', { template });
  await until(async () =>
    expect((await fleet().condition(machines.namespace, 'web', 'Progressing'))?.reason).toBe('RollingOut'),
  );
  const transition = await machines.change({ restartNow: true, maxRestarts: 3 });
  expect(await transition.result()).toMatchObject({ phase: 'Complete', restarted: 0, failures: 0 });
  await guestsAre(machines, NEW, 3);
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(1);
  // VMs that the rollout had not begun restart once; those that it had begun, at most twice.
  const restarts = namesUpTo('web', 3).map((name) => watch.log.restartsOf(name).length);
  expect(Math.max(...restarts)).toBeLessThanOrEqual(2);
  expect(restarts.filter((count) => count === 1).length).toBeGreaterThanOrEqual(1);
});

test('a pool that one transition has changed is in its hand until that one is over, whatever another one asks; abort leaves it to its pool', async () => {
  await aWorker();
  const machines = await Machines.empty(fleet());
  await aPool(machines, { replicas: 2, maxUnavailable: 1 });
  await fleet().patchPool(machines.namespace, 'web', { paused: true });
  const first = await machines.change();
  await first.until({ phase: 'Waiting', counts: { inPools: 2 } });
  const second = await machines.change({ restartNow: true });
  await second.until({
    counts: { parked: 2 },
    passedOver: [
      {
        why: `machine-types/default/${first.id} is at work on it, until that ends, or \`drover machine-types abort ${first.id}\` ends it`,
        count: 2,
      },
    ],
  });
  for (const name of namesUpTo('web', 2))
    expect([await machines.type(name), await machines.record(name)]).toEqual([OLD, undefined]);
  await first.handle.signal(abort, { by: 'eve' });
  expect(await first.result()).toMatchObject({ phase: 'Aborted' });
  await second.handle.signal(abort, { by: 'eve' });
  expect(await second.result()).toMatchObject({ phase: 'Aborted', patched: 0, restarted: 0 });
  await fleet().patchPool(machines.namespace, 'web', { paused: false });
  await guestsAre(machines, NEW, 2);
});
