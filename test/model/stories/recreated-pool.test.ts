import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { poolIdOf, progress, type PoolProgress } from '../../../workflows/lib/messages.ts';
import { aTemplate } from '../pools.ts';
import { NAMESPACE, refOf } from '../world/names.ts';
import { begun, isReady, play, statusOf } from './story.ts';

test('a pool that is recreated under its name begins with nothing of the old one', () =>
  play(async (world) => {
    const refusal = new KubeError(403, 'Forbidden', 'exceeded quota');
    const rollout = { maxFailures: 5, progressDeadlineSeconds: 30 };
    await begun(world, { replicas: 5, maxUnavailable: 1, autohealing: {}, rollout });
    await world.people.rollout('web', 'pause', { reason: 'incident 42' });
    await world.people.heal('web', { action: 'pause' });
    world.refuse = (call) => (call.verb === 'create' && call.resource?.plural === 'virtualmachines' ? refusal : null);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }), replicas: 6 });
    await world.wait(5_000);
    const { spec } = world.pool('web')!;
    const id = poolIdOf(refOf('web'));
    const recentErrors = (): PoolProgress['recentErrors'] =>
      (world.temporal.query(id, progress.name) as PoolProgress).recentErrors;
    expect(statusOf(world)?.healing?.paused).toMatchObject({ by: 'ann' });
    expect(recentErrors()).toMatchObject([{ message: refusal.message }]);
    for (const worker of world.workers) world.freeze(worker);
    world.refuse = () => null;
    const key = { namespace: NAMESPACE, name: 'web' };
    await world.people.client.patch(VirtualMachinePools, key, 'merge', { metadata: { finalizers: null } });
    await world.people.deletePool('web').catch(() => {});
    await world.people.createPool('web', spec);
    await world.wait(5_000);
    for (const worker of world.workers) world.thaw(worker);
    await world.wait(60_000);
    const isWhole = await world.until(isReady(world, 6), 300_000);
    if (!isWhole) world.break(`G14: the new pool has ${statusOf(world)?.readyReplicas} of 6 VMs ready`);
    if (recentErrors().length > 0) world.break(`G14: the new pool has had ${JSON.stringify(recentErrors())}`);
  }));
