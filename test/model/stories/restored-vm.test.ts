import '../world/real-code.ts';
import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { PersistentVolumeClaims, VirtualMachineInstances } from '../../../api/resources.ts';
import { disksOf } from '../../../decisions/template/used-disks.ts';
import { aTemplate } from '../pools.ts';
import type { World } from '../world/world.ts';
import { begun, isReady, play, statusOf } from './story.ts';

const MINUTE_MS = 60_000;
const coresOf = (world: World, name: string): unknown =>
  (world.vmi(name)?.['spec'] as { domain?: { cpu?: { cores?: number } } } | undefined)?.domain?.cpu?.cores;

/** How many VMIs each VM has had from now on. */
function countStarts(world: World): Map<string, number> {
  const starts = new Map<string, number>();
  world.onlookers.push({
    onWrite: ({ resource, before, after }) => {
      if (resource !== VirtualMachineInstances || before !== undefined || after === undefined) return;
      starts.set(after.metadata.name, (starts.get(after.metadata.name) ?? 0) + 1);
    },
  });
  return starts;
}

/** A pool of three VMs that were updated to two cores. */
async function updated(world: World): Promise<void> {
  await begun(world, { replicas: 3, maxUnavailable: 1 });
  await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
  const names = ['web-1', 'web-2', 'web-3'];
  const isDone = (): boolean => names.every((name) => coresOf(world, name) === 2) && isReady(world, 3)();
  expect(await world.until(isDone, 5 * MINUTE_MS)).toBe(true);
  await world.wait(MINUTE_MS);
}

test('a stopped VM that is restored from a snapshot of before a rollout is brought up to date, and starts once', () =>
  play(async (world) => {
    await updated(world);
    await world.people.power('web-2', 'stop');
    expect(await world.until(() => world.vmi('web-2') === undefined, MINUTE_MS)).toBe(true);
    const starts = countStarts(world);
    await world.people.restoreInPlace('web-2');
    await world.wait(MINUTE_MS);
    await world.people.power('web-2', 'start');
    expect(await world.until(isReady(world, 3), MINUTE_MS)).toBe(true);
    await world.wait(10 * MINUTE_MS);
    expect(coresOf(world, 'web-2')).toBe(2);
    expect(starts).toEqual(new Map([['web-2', 1]]));
  }));

test('a restored VM that is started before a worker sees it restarts once', () =>
  play(async (world) => {
    await updated(world);
    for (const worker of world.workers) world.freeze(worker);
    await world.people.power('web-2', 'stop');
    expect(await world.until(() => world.vmi('web-2') === undefined, MINUTE_MS)).toBe(true);
    const starts = countStarts(world);
    await world.people.restoreInPlace('web-2');
    await world.people.power('web-2', 'start');
    expect(await world.until(() => coresOf(world, 'web-2') === 1, MINUTE_MS)).toBe(true);
    for (const worker of world.workers) world.thaw(worker);
    expect(await world.until(() => coresOf(world, 'web-2') === 2, 5 * MINUTE_MS)).toBe(true);
    await world.wait(10 * MINUTE_MS);
    expect(starts).toEqual(new Map([['web-2', 2]]));
  }));

test('VMIs that never get the label of their revision restart once, and count as failures of the rollout', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1, rollout: { maxFailures: 1 } });
    world.kubevirt.relabelTo = 'x';
    const starts = countStarts(world);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    const hasFailed = (): boolean => statusOf(world)?.rollout?.halted !== undefined;
    expect(await world.until(hasFailed, 5 * MINUTE_MS)).toBe(true);
    await world.wait(10 * MINUTE_MS);
    expect(statusOf(world)?.rollout?.failures[0]?.message).toContain('has the label drover.dev/revision: x');
    expect([...starts.values()].every((count) => count === 1)).toBe(true);
  }));

test('a pool whose VMIs never had the label of their revision restarts none, and says so', () =>
  play(async (world) => {
    world.kubevirt.relabelTo = 'x';
    await begun(world, { replicas: 3, maxUnavailable: 1 });
    const starts = countStarts(world);
    await world.wait(10 * MINUTE_MS);
    expect(starts.size).toBe(0);
    const upToDate = statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing');
    expect(upToDate?.message).toContain('has the label drover.dev/revision: x');
  }));

const diskOf = (world: World, name: string): unknown => [...disksOf(world.vm(name)?.['spec'] as object)][0];

/** KubeVirt's names for restored disks (`restoreVolumeName`), by the policy that a restore asks for. */
const RESTORED = [
  ['of random names', 'restore-6f1a2d0c-7d41-4d7e-9a3b-8c1f0e2d3b4a-'],
  ["of the VM's name", 'web-2-'],
];

test.each(RESTORED)('a VM that was restored onto disks %s has them again after a scale-in', (_, prefix) =>
  play(async (world) => {
    const scaleInStrategy = { proactive: { statePreservation: 'Offline' } } as const;
    await begun(world, { replicas: 3, scaleInStrategy, template: aTemplate({ disk: 'data' }) });
    await world.people.power('web-2', 'stop');
    expect(await world.until(() => world.vmi('web-2') === undefined, MINUTE_MS)).toBe(true);
    await world.people.restoreInPlace('web-2', { prefix });
    await world.people.power('web-2', 'start');
    expect(await world.until(isReady(world, 3), 2 * MINUTE_MS)).toBe(true);
    const claim = (): string | undefined =>
      world.server.all<Stored>(PersistentVolumeClaims).find(({ metadata }) => metadata.name === `${prefix}root`)
        ?.metadata.uid;
    const before = claim();
    expect([before !== undefined, diskOf(world, 'web-2')]).toEqual([true, `${prefix}root`]);
    await world.people.removeByName('web-2');
    expect(await world.until(() => world.vm('web-2') === undefined, MINUTE_MS)).toBe(true);
    expect(await world.until(() => statusOf(world)?.keptDisks === 1, MINUTE_MS)).toBe(true);
    await world.people.changePool('web', { replicas: 3 });
    expect(await world.until(isReady(world, 3), 2 * MINUTE_MS)).toBe(true);
    await world.wait(MINUTE_MS);
    expect([claim(), diskOf(world, 'web-2')]).toEqual([before, `${prefix}root`]);
    expect(statusOf(world)?.keptDisks).toBe(0);
    // Nothing has become of it that an update would have to bring about.
    await world.people.changePool('web', { template: aTemplate({ disk: 'data', version: 2 }) });
    expect(await world.until(() => coresOf(world, 'web-2') === 2 && isReady(world, 3)(), 5 * MINUTE_MS)).toBe(true);
    expect([claim(), diskOf(world, 'web-2')]).toEqual([before, `${prefix}root`]);
  }),
);

test('healing that keeps disks keeps those onto which a VM was restored', () =>
  play(async (world) => {
    const autohealing = { startupFailureThreshold: 3, backoff: { jitter: 0 } };
    await begun(world, { replicas: 3, autohealing, template: aTemplate({ disk: 'data' }) });
    await world.people.power('web-2', 'stop');
    expect(await world.until(() => world.vmi('web-2') === undefined, MINUTE_MS)).toBe(true);
    const [, [, prefix = '']] = RESTORED as [string[], string[]];
    await world.people.restoreInPlace('web-2', { prefix });
    await world.people.power('web-2', 'start');
    expect(await world.until(isReady(world, 3), 2 * MINUTE_MS)).toBe(true);
    await world.wait(MINUTE_MS);
    const { uid } = world.vm('web-2')!.metadata;
    await world.people.corruptDisk(`${prefix}root`);
    world.kubevirt.crash('web-2');
    const isAnother = (): boolean => ![undefined, uid].includes(world.vm('web-2')?.metadata.uid);
    expect(await world.until(isAnother, 30 * MINUTE_MS)).toBe(true);
    expect(diskOf(world, 'web-2')).toBe(`${prefix}root`);
  }));
