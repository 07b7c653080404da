import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aSpec, aTemplate, fromAnotherSource } from '../pools.ts';
import { begun, play, statusOf } from '../stories/story.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const HOLD = 'shop.example/hold';

const spec = (rollout: object = {}) =>
  aSpec({
    replicas: 6,
    maxUnavailable: 3,
    template: aTemplate({ disk: 'root' }),
    updateStrategy: { proactive: { disruption: 'Replace' } },
    rollout,
  });

const uids = (world: World): Map<string, string> =>
  new Map(world.vmsOf(world.pool('web')!.metadata.uid).map(({ metadata }) => [metadata.name, metadata.uid]));

/** Names of VMs that are none of these, and of the newest revision. */
function replaced(world: World, before: ReadonlyMap<string, string>): string[] {
  const { spec: now, metadata } = world.pool('web')!;
  const newest = revisionOf(poolTemplate(now));
  const isNew = (vm: { metadata: { name: string; uid: string; labels?: Record<string, string> } }): boolean =>
    vm.metadata.uid !== before.get(vm.metadata.name) && vm.metadata.labels?.['drover.dev/revision'] === newest;
  return world
    .vmsOf(metadata.uid)
    .filter(isNew)
    .map(({ metadata: { name } }) => name)
    .sort();
}

const change = (world: World): Promise<unknown> =>
  world.people.changePool('web', { template: fromAnotherSource({ disk: 'root' }) });

test('a VM that does not go while it is replaced holds up only itself', () =>
  play(async (world) => {
    await begun(world, spec());
    const before = uids(world);
    const held = { namespace: NAMESPACE, name: 'web-2' };
    const patch = (finalizers: string[]): Promise<unknown> =>
      world.people.client.patch(VirtualMachines, held, 'merge', { metadata: { finalizers } });
    await patch([HOLD]);
    await change(world);
    const isGoing = (): boolean => world.vm('web-2')?.metadata.deletionTimestamp !== undefined;
    if (!(await world.until(isGoing, 2 * MINUTE_MS))) world.break('web-2 is never asked to go');
    // Those of its batch come back while it is there.
    if (!(await world.until(() => replaced(world, before).length >= 2, 2 * MINUTE_MS)))
      world.break(`G11: only ${replaced(world, before).join(', ')} have come back`);
    if (!(await world.until(() => replaced(world, before).length === 5, 20 * MINUTE_MS)))
      world.break(`G12: only ${replaced(world, before).join(', ')} have been replaced beside it`);
    expect(statusOf(world)?.rollout?.failures ?? []).toEqual([]);
    await patch([]);
    if (!(await world.until(() => replaced(world, before).length === 6, 2 * MINUTE_MS)))
      world.break('G11: web-2 does not come back once it has gone');
    if (!(await world.until(() => statusOf(world)?.rollout?.completedAt !== undefined, 5 * MINUTE_MS)))
      world.break(`G12: the rollout does not end: ${JSON.stringify(statusOf(world)?.rollout)}`);
  }));

test('a VM whose replacement is refused fails alone', () =>
  play(async (world) => {
    await begun(world, spec({ progressDeadlineSeconds: 60, maxFailures: 5 }));
    const before = uids(world);
    const denied = new KubeError(403, 'Forbidden', 'admission webhook "policy" denied the request');
    world.refuse = ({ verb, resource, key }) =>
      verb === 'create' && resource?.plural === 'virtualmachines' && key.name === 'web-2' ? denied : null;
    await change(world);
    if (!(await world.until(() => replaced(world, before).length === 5, 10 * MINUTE_MS)))
      world.break(`G12: only ${replaced(world, before).join(', ')} have been replaced`);
    // What the batch could not make, the pool tries, and tells of.
    const failure = (): string | undefined =>
      statusOf(world)?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message;
    if (!(await world.until(() => failure()?.includes('denied the request') === true, 90_000)))
      world.break(`the refusal is never told: ${JSON.stringify(statusOf(world)?.conditions)}`);
    expect(statusOf(world)?.rollout?.halted).toBeUndefined();
    world.refuse = () => null;
    if (!(await world.until(() => uids(world).size === 6, 2 * MINUTE_MS))) world.break('G11: web-2 does not come back');
  }));

test('a rollout halts on a VM whose replacement is refused until its deadline', () =>
  play(async (world) => {
    await begun(world, spec({ progressDeadlineSeconds: 60 }));
    const denied = new KubeError(403, 'Forbidden', 'admission webhook "policy" denied the request');
    world.refuse = ({ verb, resource, key }) =>
      verb === 'create' && resource?.plural === 'virtualmachines' && key.name === 'web-2' ? denied : null;
    await change(world);
    const isHalted = (): boolean => statusOf(world)?.rollout?.halted?.kind === 'Failed';
    if (!(await world.until(isHalted, 100_000)))
      world.break(`G8: the rollout continues: ${JSON.stringify(statusOf(world)?.rollout)}`);
    expect(statusOf(world)?.rollout?.failures).toMatchObject([{ vm: 'web-2', message: denied.message }]);
    world.refuse = () => null;
  }));
