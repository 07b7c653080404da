import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { DISKS_FINALIZER, POOL_FINALIZER, POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Condition, KubeObject, Stored } from '../../../api/objects.ts';
import { isByWorker } from '../facts.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { begun, isReady, play, statusOf } from '../stories/story.ts';
import type { World } from '../world/world.ts';

/** Policies and definitions that let a write pass, and store something else. */

const MINUTE_MS = 60_000;
/** Tries within ten minutes of a minute each, of several calls each. */
const MAX_WRITES = 100;

const OFFLINE = { scaleInStrategy: { proactive: { statePreservation: 'Offline' as const } } };

/** Has the API server change objects of this kind as they are written; returns what ends that. */
function admitting(world: World, plural: string, change: (object: KubeObject) => KubeObject): () => void {
  const { admit } = world.server;
  world.server.admit = (resource, object, before) => {
    const admitted = admit(resource, object, before);
    return resource.plural === plural ? change(admitted) : admitted;
  };
  return () => void (world.server.admit = admit);
}

const withMetadata = (object: KubeObject, metadata: object): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});
const without = (finalizer: string, object: KubeObject): KubeObject =>
  withMetadata(object, { finalizers: (object.metadata.finalizers ?? []).filter((one) => one !== finalizer) });
const alwaysRuns = (vm: KubeObject): KubeObject => ({
  ...vm,
  spec: { ...(vm['spec'] as object), runStrategy: 'Always' },
});
const withoutPoolLabel = (vm: KubeObject): KubeObject => {
  const { [POOL_LABEL]: _pool, ...labels } = vm.metadata.labels ?? {};
  return withMetadata(vm, { labels });
};

const withoutRoles = (pool: KubeObject): KubeObject => {
  const { roles: _roles, ...status } = (pool['status'] ?? {}) as { roles?: unknown };
  return { ...pool, status };
};

const conditionOf = (world: World, type: string): Condition | undefined =>
  statusOf(world)?.conditions?.find((condition) => condition.type === type);
const says = (world: World, type: string, words: string) => (): boolean =>
  conditionOf(world, type)?.message?.includes(words) === true;

/** Counts the writes of workers from now on. */
function writes(world: World): { count: number } {
  const counted = { count: 0 };
  world.onlookers.push({
    onCall: (call) => {
      const isWrite = ['create', 'update', 'patch', 'delete'].includes(call.verb);
      if (isWrite && isByWorker(call)) counted.count++;
    },
  });
  return counted;
}

test('a VM that a policy keeps running is asked to stop less and less often, and leaves once it may', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, ...OFFLINE });
    const end = admitting(world, 'virtualmachines', alwaysRuns);
    await world.people.changePool('web', { replicas: 2 });
    const words = 'spec.runStrategy does not become "Halted"';
    expect(await world.until(says(world, 'ReplicaFailure', words), 2 * MINUTE_MS)).toBe(true);
    const counted = writes(world);
    await world.wait(10 * MINUTE_MS);
    expect(counted.count).toBeLessThan(MAX_WRITES);
    end();
    expect(await world.until(() => world.vms.length === 2, 3 * MINUTE_MS)).toBe(true);
  }));

test('a VM that gets no finalizer is not deleted, since its disks would go with it', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ disk: 'data' }), ...OFFLINE });
    const end = admitting(world, 'virtualmachines', (vm) => without(DISKS_FINALIZER, vm));
    await world.people.changePool('web', { replicas: 1 });
    expect(await world.until(says(world, 'ReplicaFailure', 'metadata.finalizers'), 3 * MINUTE_MS)).toBe(true);
    await world.wait(5 * MINUTE_MS);
    expect(world.vms.length).toBe(2);
    end();
    expect(await world.until(() => statusOf(world)?.keptDisks === 1, 3 * MINUTE_MS)).toBe(true);
    expect(world.vms.length).toBe(1);
  }));

test('a pool whose labels a policy removes from its VMs says so, and is updated all the same', () =>
  play(async (world) => {
    admitting(world, 'virtualmachines', withoutPoolLabel);
    await begun(world, { replicas: 2, maxUnavailable: 1 });
    expect(await world.until(says(world, 'HousekeepingFailure', POOL_LABEL), 3 * MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    const isUpdated = (): boolean => statusOf(world)?.updatedReplicas === 2 && isReady(world, 2)();
    expect(await world.until(isUpdated, 3 * MINUTE_MS)).toBe(true);
  }));

test('a pool that gets no finalizer makes no VM, and says why', () =>
  play(async (world) => {
    const end = admitting(world, 'virtualmachinepools', (pool) => without(POOL_FINALIZER, pool));
    await world.people.createPool('web', aSpec({ replicas: 2 }));
    const words = 'metadata.finalizers does not become';
    expect(await world.until(says(world, 'ReplicaFailure', words), MINUTE_MS)).toBe(true);
    const counted = writes(world);
    await world.wait(MINUTE_MS);
    expect(counted.count).toBeLessThan(MAX_WRITES / 10);
    expect(world.vms).toEqual([]);
    end();
    expect(await world.until(isReady(world, 2), 3 * MINUTE_MS)).toBe(true);
  }));

test('a definition without the record of roles has no standby VM made, and none twice', () =>
  play(async (world) => {
    const { server } = world;
    const write = server.write.bind(server);
    server.write = (resource, key, change, subresource) => {
      const isOld = resource.plural === 'virtualmachinepools' && subresource === 'status';
      return write(
        resource,
        key,
        (before: Stored) => (isOld ? withoutRoles(change(before)) : change(before)),
        subresource,
      );
    };
    await begun(world, { replicas: 2 });
    await world.people.changePool('web', { standby: { replicas: 1 } });
    expect(await world.until(says(world, 'ReplicaFailure', 'status.roles'), 3 * MINUTE_MS)).toBe(true);
    const counted = writes(world);
    await world.wait(10 * MINUTE_MS);
    expect(counted.count).toBeLessThan(MAX_WRITES);
    expect(world.vms.length).toBe(2);
    server.write = write;
    expect(await world.until(() => world.vms.length === 3, 3 * MINUTE_MS)).toBe(true);
  }));
