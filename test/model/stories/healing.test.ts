import '../world/real-code.ts';
import { test } from 'vitest';
import { aTemplate } from '../pools.ts';
import { crashLoop } from './crash-loop.ts';
import { begun, play, statusOf } from './story.ts';

const MINUTE_MS = 60_000;

test('the healing of a standby VM ends when the pool wants fewer meanwhile', () =>
  play(async (world) => {
    const autohealing = { startupFailureThreshold: 1, maxUnhealthy: '100%', backoff: { initial: '60s', jitter: 0 } };
    await begun(world, { replicas: 2, standby: { replicas: 2, state: 'Paused' }, autohealing });
    await world.until(() => statusOf(world)?.readyStandbyReplicas === 2, 2 * MINUTE_MS);
    crashLoop(world, 'web-4');
    await world.until(() => statusOf(world)?.healing?.cycles[0]?.phase === 'Waiting', 10 * MINUTE_MS);
    await world.people.changePool('web', { standby: { replicas: 1, state: 'Paused' } });
    if (!(await world.until(() => statusOf(world)?.healing?.cycles.length === 0, 5 * MINUTE_MS)))
      world.break(`G12: the cycle does not end: ${JSON.stringify(statusOf(world)?.healing?.cycles)}`);
  }));

test('a VM whose healing users skip is made again at once, and not after the delay of its attempt', () =>
  play(async (world) => {
    const backoff = { initial: '30m', max: '30m', jitter: 0 };
    await begun(world, { replicas: 2, autohealing: { startupFailureThreshold: 1, maxUnhealthy: '100%', backoff } });
    crashLoop(world, 'web-2');
    const isWaiting = (): boolean => statusOf(world)?.healing?.cycles[0]?.phase === 'Waiting';
    if (!(await world.until(isWaiting, 10 * MINUTE_MS))) world.break('web-2 is not healed');
    await world.people.heal('web', { action: 'skip', vms: ['web-2'] });
    if (!(await world.until(() => world.vm('web-2') !== undefined, 10_000)))
      world.break('G11: web-2 is not made again, though nobody heals it any more');
  }));

test('a surplus that nothing removes stops no healing', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 5,
      autohealing: { preserveStorage: false, maxUnhealthy: '100%' },
      scaleInStrategy: { opportunistic: {} },
      template: aTemplate({ disk: 'root' }),
    });
    await world.people.changePool('web', { replicas: 4 });
    await world.people.corruptDisk('root-5');
    world.kubevirt.crash('web-5');
    const { uid } = world.vm('web-5')!.metadata;
    const isNew = (): boolean => ![uid, undefined].includes(world.vm('web-5')?.metadata.uid);
    if (!(await world.until(isNew, 1_800_000))) world.break('G12: web-5 is sick for half an hour, and is not healed');
  }));
