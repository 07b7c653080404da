import '../world/real-code.ts';
import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims } from '../../../api/resources.ts';
import { field } from '../../../decisions/lib/json.ts';
import { disksOf } from '../../../decisions/template/used-disks.ts';
import { STATE_CLAIM_LABEL } from '../../../decisions/template/vm-state.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { begun, isReady, play, statusOf } from './story.ts';

test('two pools whose disk templates have one name never run on one disk, nor delete it', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }, 'a');
    await world.people.createPool('b', aSpec({ replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }));
    await world.wait(60_000);
    await world.people.changePool('a', { replicas: 0 });
    await world.wait(60_000);
  }));

test('a VM that ran unobserved keeps its disks when its VMI fails to start', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 3,
      autohealing: { startupFailureThreshold: 3, maxUnhealthy: '100%' },
      template: aTemplate({ disk: 'root' }),
    });
    await world.people.changePool('web', { replicas: 4 });
    await world.until(() => world.vm('web-4') !== undefined, 30_000);
    for (const worker of world.workers) world.freeze(worker);
    await world.wait(300_000);
    expect(world.vmi('web-4')?.status?.phase).toBe('Running');
    await world.people.corruptDisk('root-4');
    world.kubevirt.crash('web-4');
    await world.wait(300_000);
    for (const worker of world.workers) world.thaw(worker);
    await world.wait(600_000);
  }));

test('an update that adds a disk never starts a VM on the disk of another pool', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ disk: 'data' }) }, 'a');
    await begun(world, { replicas: 3, maxUnavailable: 3 }, 'b');
    await world.people.changePool('b', { template: aTemplate({ disk: 'data' }) });
    await world.wait(120_000);
    expect(disksOf(world.vm('b-1')?.['spec'] as object)).toEqual(new Set());
  }));

test('a kept disk that another pod reads holds up its number alone, and is reported', () =>
  play(async (world) => {
    const scaleInStrategy = { proactive: { statePreservation: 'Offline' } } as const;
    await begun(world, { replicas: 3, scaleInStrategy, template: aTemplate({ disk: 'data' }) });
    await world.people.changePool('web', { replicas: 2 });
    const gone = (): string[] => ['web-1', 'web-2', 'web-3'].filter((name) => world.vm(name) === undefined);
    expect(await world.until(() => gone().length === 1, 60_000)).toBe(true);
    const [left] = gone();
    await world.people.rescue('rescue', left!.replace('web', 'data'));
    await world.wait(10_000);
    await world.people.changePool('web', { replicas: 3 });
    const failure = (): string | undefined =>
      statusOf(world)?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message;
    expect(await world.until(() => failure() !== undefined, 60_000)).toBe(true);
    expect(failure()).toMatch(/^web-\d is not created: PersistentVolumeClaim data-\d is used by VirtualMachine rescue/);
    await world.people.changePool('web', { replicas: 4 });
    expect(await world.until(isReady(world, 3), 60_000)).toBe(true);
    expect(world.vm(left!)).toBeUndefined();
    await world.people.deleteVm('rescue');
    expect(await world.until(isReady(world, 4), 120_000)).toBe(true);
    expect(world.vm(left!)).toBeDefined();
  }));

test('a kept disk that another pod uses is not discarded, and its number is reported and tried less and less often', () =>
  play(async (world) => {
    const template = aTemplate({ disk: 'data' });
    await begun(world, { replicas: 2, scaleInStrategy: { proactive: { statePreservation: 'Offline' } }, template });
    await world.people.changePool('web', { replicas: 1 });
    const gone = (): string | undefined => ['web-1', 'web-2'].find((name) => world.vm(name) === undefined);
    expect(await world.until(() => gone() !== undefined, 60_000)).toBe(true);
    await world.people.rescue('rescue', gone()!.replace('web', 'data'), true);
    await world.wait(10_000);
    await world.people.changePool('web', { replicas: 2, scaleInStrategy: { proactive: {} } });
    const failure = (): string | undefined =>
      statusOf(world)?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message;
    expect(await world.until(() => failure() !== undefined, 60_000)).toBe(true);
    expect(failure()).toMatch(
      /^web-\d is not created: its kept disk data-\d can't be deleted: it belongs to VirtualMachine rescue/,
    );
    let plans = 0;
    world.onlookers.push({ onPlan: () => void plans++ });
    await world.wait(300_000);
    expect(plans).toBeLessThan(60);
    expect(failure()).toMatch(
      /^web-\d is not created: its kept disk data-\d can't be deleted: it belongs to VirtualMachine rescue/,
    );
  }));

const stateClaims = (world: World): Stored[] =>
  world.server.all<Stored>(PersistentVolumeClaims).filter(({ metadata }) => metadata.labels?.[STATE_CLAIM_LABEL]);

test('the state of a TPM and the UUID of the machine stay with the disks, and come back with them', () =>
  play(async (world) => {
    const scaleInStrategy = { proactive: { statePreservation: 'Offline' } } as const;
    await begun(world, { replicas: 2, scaleInStrategy, template: aTemplate({ disk: 'data', tpm: true }) });
    const before = stateClaims(world).map(({ metadata }) => metadata.uid);
    const uuidOf = (name: string): unknown => field(world.vm(name)?.['spec'], 'template', 'spec', 'domain', 'firmware');
    const uuids = ['web-1', 'web-2'].map(uuidOf);
    expect([before.length, uuids[0] !== undefined]).toEqual([2, true]);
    await world.people.changePool('web', { replicas: 0 });
    expect(await world.until(() => world.vm('web-1') === undefined && world.vm('web-2') === undefined, 60_000)).toBe(
      true,
    );
    await world.wait(10_000);
    expect(stateClaims(world).map(({ metadata }) => metadata.uid)).toEqual(before);
    expect(statusOf(world)?.keptDisks).toBe(4);
    await world.people.changePool('web', { replicas: 2 });
    expect(await world.until(isReady(world, 2), 60_000)).toBe(true);
    expect(stateClaims(world).map(({ metadata }) => metadata.uid)).toEqual(before);
    expect(['web-1', 'web-2'].map(uuidOf)).toEqual(uuids);
    const own = (): boolean =>
      stateClaims(world).every(({ metadata }) =>
        [world.vm('web-1'), world.vm('web-2')].some((vm) => vm?.metadata.uid === metadata.ownerReferences?.[0]?.uid),
      );
    expect(await world.until(own, 60_000)).toBe(true);
    await world.people.deletePool('web');
    expect(await world.until(() => stateClaims(world).length === 0, 60_000)).toBe(true);
  }));

test('a later pool of the name does not start its VMs on the state that an earlier one has kept', () =>
  play(async (world) => {
    const template = aTemplate({ tpm: true });
    await begun(world, { replicas: 1, scaleInStrategy: { proactive: { statePreservation: 'Offline' } }, template });
    await world.people.changePool('web', { replicas: 0 });
    expect(await world.until(() => world.vm('web-1') === undefined, 60_000)).toBe(true);
    await world.people.deletePool('web');
    expect(await world.until(() => world.pool('web') === undefined, 60_000)).toBe(true);
    await world.people.createPool('web', aSpec({ replicas: 2, template }));
    const failure = (): string | undefined =>
      statusOf(world)?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message;
    expect(await world.until(() => failure() !== undefined, 60_000)).toBe(true);
    expect(failure()).toMatch(
      /^web-1 is not created: PersistentVolumeClaim persistent-state-for-web-1-\w+ was kept for/,
    );
    expect(world.vm('web-2')).toBeDefined();
  }));

test('a VM whose DataVolume fails for good is replaced with its disks, and its source is asked again', () =>
  play(async (world) => {
    const template = aTemplate({ disk: 'data' });
    await world.people.createPool('web', aSpec({ replicas: 3, autohealing: { backoff: { jitter: 0 } }, template }));
    const volume = (): Stored | undefined => world.server.find(DataVolumes, { namespace: NAMESPACE, name: 'data-2' });
    expect(await world.until(() => volume() !== undefined, 60_000)).toBe(true);
    const { uid } = volume()!.metadata;
    world.server.write(DataVolumes, { namespace: NAMESPACE, name: 'data-2' }, (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'sim.drover.dev/provision-fails': 'true' } },
    }));
    expect(await world.until(() => field(volume(), 'status', 'phase') === 'Failed', 60_000)).toBe(true);
    expect(await world.until(isReady(world, 3), 600_000)).toBe(true);
    expect(volume()?.metadata.uid).not.toBe(uid);
  }));
