import { expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { aProxiedWorker } from '../proxied-worker.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { TypedVms, NEW, OLD } from './machine-types.ts';

/** Machine type transitions of VMs that drover's pools own. */
const fleet = aFleet({ workers: 0 });
const throughProxy = aProxiedWorker(fleet);

function typed(type: string, bootTime = '100ms'): PoolSpec['template'] {
  const { spec } = structuredClone(runningTemplate);
  const vmi = spec.template as { metadata: { annotations: object }; spec: { domain: object } };
  Object.assign(vmi.metadata.annotations, { 'sim.drover.dev/boot-time': bootTime });
  vmi.spec.domain = { ...vmi.spec.domain, machine: { type } };
  return { spec };
}

/** Creates a pool named `web`; resolves when its VMs are ready and its rollout is complete. */
async function aPool(typedVms: TypedVms, spec: Partial<PoolSpec>): Promise<void> {
  const { namespace } = typedVms;
  const { replicas = 3 } = spec;
  await fleet().createPool(namespace, 'web', { template: typed(OLD), ...spec, replicas });
  await typedVms.ready(namesUpTo('web', replicas));
  await until(async () => expect((await fleet().condition(namespace, 'web', 'Progressing'))?.reason).toBe('Complete'));
}

const templateType = async ({ namespace }: TypedVms): Promise<unknown> => {
  const { spec } = (await fleet().pool(namespace, 'web'))!.spec.template;
  return (spec.template as { spec: { domain: { machine?: { type?: string } } } }).spec.domain.machine?.type;
};

/** Waits until all VMIs have this type: the last one may still be booting when the transition is done. */
const vmisAre = (typedVms: TypedVms, type: string, count: number): Promise<void> =>
  until(async () => {
    const vmis = await Promise.all(namesUpTo('web', count).map((name) => typedVms.vmi(name)));
    expect(vmis.map((vmi) => vmi?.status?.machine?.type)).toEqual(vmis.map(() => type));
  });

async function watched({ namespace }: TypedVms): Promise<ReadinessWatch> {
  const watch = await ReadinessWatch.start(fleet().kube, namespace);
  onTestFinished(() => watch.stop());
  await watch.startRecording();
  return watch;
}

test("a pool's template is changed, unless some of its VMs were not chosen, and the pool brings its VMs to it within its own budget", async () => {
  const typedVms = await TypedVms.empty(fleet());
  await aPool(typedVms, { replicas: 3, maxUnavailable: 1, template: typed(OLD, '500ms') });
  const part = await (await typedVms.change({ scope: { names: ['web-1'] } })).result();
  expect(part).toMatchObject({ phase: 'Complete', patched: 0, counts: { excluded: 1 } });
  expect(part.skipped).toMatchObject([
    { message: expect.stringContaining(`pool ${typedVms.key('web')} has VMs that were not chosen`), isExcluded: true },
  ]);
  expect(await templateType(typedVms)).toBe(OLD);

  const watch = await watched(typedVms);
  const vmis = await HeldVmis.of(fleet(), typedVms.namespace);
  const transition = await typedVms.change({ restartNow: true, maxRestarts: 3 });
  await vmis.next();
  await transition.until({ counts: { inPools: 3 }, phase: 'Waiting' });
  await vmis.letGo();
  const result = await transition.result();
  expect(result).toMatchObject({ phase: 'Complete', failures: 0, restarted: 0, counts: { inPools: 0 } });
  expect(await templateType(typedVms)).toBeUndefined();
  for (const name of namesUpTo('web', 3)) expect(await typedVms.type(name)).toBe('q35');
  await vmisAre(typedVms, NEW, 3);
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(1);
  expect(namesUpTo('web', 3).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 1]);

  const undo = await typedVms.change({ scope: { glob: '*', undoes: transition.id } });
  expect(await undo.result()).toMatchObject({ phase: 'Complete' });
  expect(await templateType(typedVms)).toBe(OLD);
  await vmisAre(typedVms, OLD, 3);
});

test('a pool whose template cannot be changed is reported as failed once, its VMs are skipped, and the others are changed', async () => {
  const typedVms = await TypedVms.of(fleet(), { other: { runStrategy: 'Halted' } });
  await aPool(typedVms, { replicas: 1 });
  throughProxy((method, path) =>
    method === 'PATCH' && path.includes(`/${typedVms.namespace}/virtualmachinepools/web?`) ? { status: 422 } : 'pass',
  );
  const result = await (await typedVms.change()).result();
  expect(result).toMatchObject({
    phase: 'Failed',
    patched: 1,
    failures: 1,
    failed: [{ vm: `pool ${typedVms.key('web')}`, message: expect.stringContaining('the test answers 422') }],
  });
  expect(await typedVms.type('web-1')).toBe(OLD);
});

test('a pool changed by one transition is skipped by others until that ends; an abort leaves the rollout to the pool', async () => {
  const typedVms = await TypedVms.empty(fleet());
  await aPool(typedVms, { replicas: 2, maxUnavailable: 1 });
  await fleet().patchPool(typedVms.namespace, 'web', { paused: true });
  const first = await typedVms.change();
  await first.until({ phase: 'Waiting', counts: { inPools: 2 } });
  const second = await typedVms.change({ restartNow: true });
  await second.until({
    counts: { deferred: 2 },
    skipped: [
      {
        message: `operation ${typedVms.key(first.operation.key.name)} is changing it, until that ends or is aborted`,
        count: 2,
      },
    ],
  });
  for (const name of namesUpTo('web', 2))
    expect([await typedVms.type(name), await typedVms.record(name)]).toEqual([OLD, undefined]);
  await second.set({ aborted: true });
  expect(await second.result()).toMatchObject({ phase: 'Aborted', patched: 0, restarted: 0 });
  await first.set({ aborted: true });
  expect(await first.result()).toMatchObject({ phase: 'Aborted' });
  await fleet().patchPool(typedVms.namespace, 'web', { paused: false });
  await vmisAre(typedVms, NEW, 2);
});
