import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { aSpec, aTemplate } from '../pools.ts';
import { begun, play } from './story.ts';

test('two pools whose disk templates have one name never run on one disk, nor delete it', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }, 'a');
    await world.people.createPool('b', aSpec({ replicas: 2, template: aTemplate({ disk: 'alpine-dv' }) }));
    await world.wait(60_000);
    await world.people.changePool('a', { replicas: 0 });
    await world.wait(60_000);
  }));

test('a VM that ran while nobody watched keeps its disks when its VMI fails to start', () =>
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
