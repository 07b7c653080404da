import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { KubeVirts, Nodes, VirtualMachineInstanceMigrations, VirtualMachineInstances } from '../../../api/resources.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { NAMESPACE } from '../world/names.ts';
import { type World } from '../world/world.ts';
import { addNode, begun, play, statusOf } from './story.ts';

const MINUTE_MS = 60_000;

/** Has KubeVirt run no more migrations at once than this. */
const limit = (world: World, parallelMigrationsPerCluster: number) =>
  world.people.client.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
    spec: { configuration: { migrations: { parallelMigrationsPerCluster } } },
  });

const uidsOf = (world: World): Record<string, string> =>
  Object.fromEntries(world.server.all(VirtualMachineInstances).map(({ metadata }) => [metadata.name, metadata.uid]));

const migrationsOf = (world: World, name: string) =>
  world.server.all<Migration>(VirtualMachineInstanceMigrations).filter(({ spec }) => spec.vmiName === name);

const draining = (world: World) => statusOf(world)?.conditions?.find(({ type }) => type === 'Draining');

function setMigrationTime(world: World, name: string, time: string): void {
  world.server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
    ...vmi,
    metadata: { ...vmi.metadata, annotations: { ...vmi.metadata.annotations, 'sim.drover.dev/migration-time': time } },
  }));
}

test('a VM that another client is about to migrate is not restarted, however long that takes', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, drain: { deadlineSeconds: 60 } });
    const before = uidsOf(world);
    await limit(world, 0);
    await world.people.power('web-1', 'migrate');
    await world.wait(5_000);
    world.kubevirt.evict('web-1', false);
    await world.wait(30 * MINUTE_MS);
    expect(draining(world)).toMatchObject({ reason: 'Waiting' });
    expect(draining(world)!.message).toMatch(/its migration kubevirt-migrate-vm-\w+, made at [-:.TZ\d]+, is Pending/);
    expect(migrationsOf(world, 'web-1')).toHaveLength(1);
    await limit(world, 5);
    expect(await world.until(() => draining(world) === undefined, 2 * MINUTE_MS)).toBe(true);
    expect(uidsOf(world)).toEqual(before);
    expect(migrationsOf(world, 'web-1')).toHaveLength(1);
  }));

test('the deadline of a VM does not pass while KubeVirt has other migrations to do first', () =>
  play(async (world) => {
    await begun(world, { replicas: 4, maxUnavailable: 4, drain: { deadlineSeconds: 60 } });
    addNode(world);
    const before = uidsOf(world);
    await limit(world, 1);
    for (const name of Object.keys(before)) {
      setMigrationTime(world, name, '40s');
      world.kubevirt.evict(name, false);
    }
    await world.wait(MINUTE_MS);
    expect(draining(world)!.message).toMatch(/waits for KubeVirt to begin migration 1/);
    expect(await world.until(() => draining(world) === undefined, 5 * MINUTE_MS)).toBe(true);
    expect(uidsOf(world)).toEqual(before);
  }));

test('a VM whose migration KubeVirt does not begin holds up no other, and is never restarted for that', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 2, maxUnavailable: 1, drain: { deadlineSeconds: 600 } });
      addNode(world);
      const before = uidsOf(world);
      const node = (name: string) => (world.vmi(name) as VirtualMachineInstance).status!.nodeName!;
      const [first, second] = [node('web-1'), node('web-2')];
      world.kubevirt.leavePod('web-1', 'sim-node-9');
      world.kubevirt.evict('web-1', false);
      expect(await world.until(() => migrationsOf(world, 'web-1').length === 1, MINUTE_MS)).toBe(true);
      world.kubevirt.evict('web-2', false);
      await world.wait(10 * MINUTE_MS);
      expect(node('web-2')).toBe(second);
      expect(await world.until(() => node('web-2') !== second, 10 * MINUTE_MS)).toBe(true);
      await world.wait(60 * MINUTE_MS);
      expect([node('web-1'), uidsOf(world)]).toEqual([first, before]);
      expect(draining(world)!.message).toMatch(/web-1: waits for KubeVirt to begin migration 1/);
    },
    {},
    [1, 2, 4, 8],
  ));

test('VMs take turns while KubeVirt begins no migration at all, and none is restarted for that', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1, drain: { deadlineSeconds: 60 } });
    addNode(world);
    const before = uidsOf(world);
    await limit(world, 0);
    for (const name of ['web-1', 'web-2']) world.kubevirt.evict(name, false);
    const made = new Set<string>();
    for (let minutes = 0; minutes < 60; minutes++) {
      for (const { spec } of world.server.all<Migration>(VirtualMachineInstanceMigrations)) made.add(spec.vmiName!);
      await world.wait(MINUTE_MS);
    }
    expect([...made].sort()).toEqual(['web-1', 'web-2']);
    await limit(world, 5);
    expect(await world.until(() => draining(world) === undefined, 20 * MINUTE_MS)).toBe(true);
    expect(uidsOf(world)).toEqual(before);
  }));

test('three failures count, though KubeVirt keeps five migrations and aborted ones do not count', () =>
  play(async (world) => {
    await begun(world, { replicas: 1, drain: {} });
    const before = uidsOf(world);
    const vmi = () => world.vmi('web-1') as VirtualMachineInstance | undefined;
    setMigrationTime(world, 'web-1', '1h');
    world.kubevirt.evict('web-1', false);
    for (let times = 0; times < 4; times++) {
      const runs = () => migrationsOf(world, 'web-1').some(({ status }) => status?.phase === 'Running');
      expect(await world.until(runs, MINUTE_MS)).toBe(true);
      await world.people.abortMigration('web-1');
      await world.wait(MINUTE_MS / 2);
    }
    expect(uidsOf(world)).toEqual(before);
    expect(vmi()!.status?.evacuationNodeName).toBe(vmi()!.status?.nodeName);
    await world.people.abortMigration('web-1');
    setMigrationTime(world, 'web-1', '1s');
    world.kubevirt.evict('web-1', true);
    expect(await world.until(() => uidsOf(world)['web-1'] !== before['web-1'], 5 * MINUTE_MS)).toBe(true);
  }));

test('a VM whose pod does not come up on a cordoned node starts on another, though KubeVirt refuses its eviction', () =>
  // Among many orders, another worker plans than the one that saw the node, and is behind.
  play(
    async (world) => {
      const template = aTemplate();
      const vmi = template.spec['template'] as { metadata: { annotations: Record<string, string> } };
      vmi.metadata.annotations['sim.drover.dev/image-pull-fails'] = 'true';
      await world.people.createPool('web', aSpec({ replicas: 2, drain: {}, template }));
      const isScheduling = () => ['web-1', 'web-2'].every((name) => world.vmi(name)?.status?.phase === 'Scheduling');
      expect(await world.until(isScheduling, MINUTE_MS)).toBe(true);
      const before = uidsOf(world);
      world.kubevirt.placePod('web-1', 'sim-node-1');
      world.kubevirt.placePod('web-2', 'sim-node-2');
      await world.wait(2 * MINUTE_MS);
      expect(uidsOf(world)).toEqual(before);
      await world.people.client.patch(Nodes, { name: 'sim-node-1' }, 'merge', { spec: { unschedulable: true } });
      expect(await world.until(() => uidsOf(world)['web-1'] !== before['web-1'], MINUTE_MS)).toBe(true);
      await world.wait(2 * MINUTE_MS);
      expect(uidsOf(world)['web-2']).toBe(before['web-2']);
      await world.people.client.patch(Nodes, { name: 'sim-node-1' }, 'merge', { spec: { unschedulable: null } });
    },
    {},
    40,
  ));

test('a VM whose drain was called off by day does not leave its node at night, and the condition says how to end that', () =>
  play(async (world) => {
    const windows = [{ cron: '0 0 29 2 *', duration: '1h' }];
    await begun(world, { replicas: 2, drain: { method: 'Restart', windows } });
    const before = uidsOf(world);
    const node = (world.vmi('web-1') as VirtualMachineInstance).status!.nodeName!;
    world.kubevirt.evict('web-1', false);
    expect(await world.until(() => draining(world)?.reason === 'WaitingForWindow', MINUTE_MS)).toBe(true);
    world.kubevirt.drain(node, false);
    expect(await world.until(() => draining(world)?.reason === 'Waiting', MINUTE_MS)).toBe(true);
    expect(draining(world)!.message).toMatch(/web-1: waits: its evacuation from .* `virtctl evacuate-cancel vmi NAME`/);
    await world.people.changePool('web', { drain: { windows: [] } });
    await world.wait(10 * MINUTE_MS);
    expect(uidsOf(world)).toEqual(before);
    expect(migrationsOf(world, 'web-1')).toEqual([]);
    world.kubevirt.takeBackEvictions();
    expect(await world.until(() => draining(world) === undefined, MINUTE_MS)).toBe(true);
  }));

test('the descheduler has VMs migrated, and never restarted', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, drain: { deadlineSeconds: 60 } });
    const before = uidsOf(world);
    world.kubevirt.evict('web-1', false, 'descheduler');
    world.kubevirt.evict('web-2', true, 'descheduler');
    await world.wait(30 * MINUTE_MS);
    expect(uidsOf(world)).toEqual(before);
    expect(migrationsOf(world, 'web-1').map(({ status }) => status?.phase)).toEqual(['Succeeded']);
    expect(migrationsOf(world, 'web-2').every(({ status }) => status?.phase === 'Failed')).toBe(true);
    expect(draining(world)!.message).toMatch(/^1 VM is to leave/);
  }));
