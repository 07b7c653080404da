import { expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { TypedVms, NEW, OLD } from './machine-types.ts';

/** Machine type transitions of VMs that drover's pools own. */
const fleet = aFleet();

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

test('a pool whose template has the old type is left to its users; once they change it, it brings its VMs to the new one within its own budget', async () => {
  const typedVms = await TypedVms.empty(fleet());
  await aPool(typedVms, { replicas: 3, maxUnavailable: 1, template: typed(OLD, '500ms') });
  const before = await (await typedVms.change({ restartNow: true })).result();
  expect(before).toMatchObject({ phase: 'Complete', patched: 0, restarted: 0, counts: { excluded: 3 } });
  const message = `the template of its pool ${typedVms.key('web')} asks for ${OLD}: change that first`;
  expect(before.skipped).toMatchObject([{ message, isExcluded: true, count: 3 }]);
  for (const name of namesUpTo('web', 3)) expect(await typedVms.type(name)).toBe(OLD);

  const watch = await watched(typedVms);
  const vmis = await HeldVmis.of(fleet(), typedVms.namespace);
  await fleet().patchPool(typedVms.namespace, 'web', { template: typed(NEW, '500ms') });
  await vmis.next();
  const transition = await typedVms.change({ restartNow: true, maxRestarts: 3 });
  await transition.until({ counts: { inPools: 2 }, phase: 'Waiting' });
  await vmis.letGo();
  expect(await transition.result()).toMatchObject({
    phase: 'Complete',
    failures: 0,
    restarted: 0,
    counts: { inPools: 0 },
  });
  await vmisAre(typedVms, NEW, 3);
  await watch.caughtUp();
  expect(watch.log.mostUnavailable()).toBeLessThanOrEqual(1);
  expect(namesUpTo('web', 3).map((name) => watch.log.restartsOf(name).length)).toEqual([1, 1, 1]);
});
