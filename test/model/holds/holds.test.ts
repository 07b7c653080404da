import '../world/real-code.ts';
import { expect, test } from 'vitest';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { aTemplate } from '../pools.ts';
import { begun, play } from '../stories/story.ts';
import type { World } from '../world/world.ts';
import { hold, whyHeld } from './hold.ts';

const MINUTE_MS = 60_000;

const uidOf = (world: World, name: string): string | undefined => world.vmi(name)?.metadata.uid;
const waitsOf = (world: World): string => JSON.stringify(world.pool('web')?.status?.conditions);

test.each([
  ['a snapshot of it', 'snapshot', 'end snapshot'],
  ['a backup of it', 'back up', 'end backup'],
] as const)('an update waits for %s, and says so', (words, begin, end) =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ version: 1 }) });
    hold(world, 'web-1', begin);
    expect(await world.until(() => whyHeld(world, 'web-1') !== null, MINUTE_MS)).toBe(true);
    const [held, free] = ['web-1', 'web-2'].map((name) => uidOf(world, name));
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    expect(await world.until(() => uidOf(world, 'web-2') !== free, 5 * MINUTE_MS)).toBe(true);
    expect(await world.until(() => waitsOf(world).includes(`web-1: ${words}`), 5 * MINUTE_MS)).toBe(true);
    await world.wait(10 * MINUTE_MS);
    expect(uidOf(world, 'web-1')).toBe(held);
    hold(world, 'web-1', end);
    expect(await world.until(() => uidOf(world, 'web-1') !== held, 5 * MINUTE_MS)).toBe(true);
  }),
);

test('an update does not wait for a snapshot that is gone, although the VM still names it', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, template: aTemplate({ version: 1 }) });
    hold(world, 'web-1', 'snapshot');
    const before = uidOf(world, 'web-1');
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    await world.wait(5 * MINUTE_MS);
    expect(uidOf(world, 'web-1')).toBe(before);
    hold(world, 'web-1', 'lose snapshot');
    expect(await world.until(() => uidOf(world, 'web-1') !== before, 5 * MINUTE_MS)).toBe(true);
  }));

test('a VM that an I/O error has paused goes first, and costs nothing', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, template: aTemplate({ version: 1 }) });
    world.kubevirt.failDisk('web-3', true);
    const isBroken = (): boolean =>
      (world.vmi('web-3') as VirtualMachineInstance).status?.conditions?.some(
        ({ type, reason }) => type === 'Paused' && reason === 'PausedIOError',
      ) === true;
    expect(await world.until(isBroken, MINUTE_MS)).toBe(true);
    const names = ['web-1', 'web-2', 'web-3'];
    const before = names.map((name) => uidOf(world, name));
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    expect(await world.until(() => uidOf(world, 'web-3') !== before[2], 5 * MINUTE_MS)).toBe(true);
    expect(names.slice(0, 2).map((name) => uidOf(world, name))).toEqual(before.slice(0, 2));
    expect(await world.until(() => names.every((name, at) => uidOf(world, name) !== before[at]), 10 * MINUTE_MS)).toBe(
      true,
    );
  }));

test('a guest that takes its grace period to shut down fails no update, however short the deadline', () =>
  play(async (world) => {
    const slow = (version: number) => aTemplate({ version, graceSeconds: 3600, stopMs: 12 * MINUTE_MS });
    const rollout = { progressDeadlineSeconds: 60 };
    await begun(world, { replicas: 2, template: slow(1), rollout });
    const before = ['web-1', 'web-2'].map((name) => uidOf(world, name));
    await world.people.changePool('web', { template: slow(2) });
    const isDone = (): boolean => ['web-1', 'web-2'].every((name, at) => uidOf(world, name) !== before[at]);

    expect(await world.until(isDone, 40 * MINUTE_MS)).toBe(true);
    expect(world.pool('web')?.status?.rollout?.failures).toEqual([]);
  }));
