import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { HandledRequest } from '../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { aTemplate } from '../pools.ts';
import { begun, play, statusOf } from '../stories/story.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

const MINUTE_MS = 60_000;

const annotate = (world: World, annotations: Record<string, string | null>): Promise<unknown> =>
  world.people.client.patch(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' }, 'merge', {
    metadata: { annotations },
  });
const handled = (world: World): readonly HandledRequest[] => statusOf(world)?.rollout?.handledRequests ?? [];
const outcomes = (world: World): string[] => handled(world).map(({ action, outcome }) => `${action} ${outcome}`);
const isPaused = (world: World): boolean => statusOf(world)?.rollout?.paused !== undefined;
const answered = (world: World, count: number): Promise<boolean> =>
  world.until(() => handled(world).length === count, MINUTE_MS);

test('a manifest of an earlier day, with a request that was handled then, changes nothing', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    await world.people.rollout('web', 'pause');
    expect(await answered(world, 1)).toBe(true);
    const { annotations = {} } = world.pool('web')!.metadata;
    const old = { [ROLLOUT_REQUEST_ANNOTATION]: annotations[ROLLOUT_REQUEST_ANNOTATION]! };
    await world.people.rollout('web', 'resume');
    expect(await answered(world, 2)).toBe(true);
    await annotate(world, old);
    await world.wait(MINUTE_MS);
    expect([outcomes(world), isPaused(world)]).toEqual([['pause Done', 'resume Done'], false]);
  }));

test('a promotion that was not seen before its rollout was replaced is refused, and passes no step of the next one', () =>
  play(async (world) => {
    await begun(world, { replicas: 4, maxUnavailable: 1, rollout: { steps: [aStep(1, { approval: {} })] } });
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    const waits = (): boolean => statusOf(world)?.rollout?.stepReachedAt !== undefined;
    expect(await world.until(waits, 5 * MINUTE_MS)).toBe(true);
    for (const worker of world.workers) world.freeze(worker);
    await world.people.rollout('web', 'promote');
    await world.people.changePool('web', { template: aTemplate({ version: 3 }) });
    for (const worker of world.workers) world.thaw(worker);
    expect(await answered(world, 1)).toBe(true);
    expect(await world.until(waits, 5 * MINUTE_MS)).toBe(true);
    await world.wait(10 * MINUTE_MS);
    expect(outcomes(world)).toEqual(['promote Refused']);
    expect(statusOf(world)).toMatchObject({ updatedReplicas: 1, rollout: { step: 0 } });
  }));

test('a signal pauses a rollout, and resumes only what a signal has paused', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    world.people.signal('web', 'pause', { by: 'mallory' });
    expect(await world.until(() => statusOf(world)?.rollout?.paused?.bySignal === true, MINUTE_MS)).toBe(true);
    world.people.signal('web', 'resume');
    expect(await world.until(() => !isPaused(world), MINUTE_MS)).toBe(true);
    await world.people.rollout('web', 'pause');
    expect(await world.until(() => isPaused(world), MINUTE_MS)).toBe(true);
    for (const signal of ['pause', 'resume', 'abort', 'promote', 'healPause', 'healSkip'])
      world.people.signal('web', signal, { by: 'mallory', full: true });
    await world.wait(MINUTE_MS);
    expect(statusOf(world)!.rollout).toMatchObject({ paused: { by: 'ann' } });
    expect(statusOf(world)!.rollout).not.toHaveProperty('halted');
  }));

test('a request in the manifest of a new pool is refused, and stays refused until it is made anew', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    const { spec } = world.pool('web')!;
    await world.people.deletePool('web');
    expect(await world.until(() => world.pool('web') === undefined, 10 * MINUTE_MS)).toBe(true);
    const annotations = {
      [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"1","action":"pause"}',
      [ROLLOUT_REQUESTED_BY_ANNOTATION]: 'ann',
    };
    await world.people.client.create(VirtualMachinePools, {
      metadata: { namespace: NAMESPACE, name: 'web', annotations },
      spec,
    });
    expect(await answered(world, 1)).toBe(true);
    await world.wait(MINUTE_MS);
    expect([outcomes(world), isPaused(world)]).toEqual([['pause Refused'], false]);
  }));

test('a malformed request is reported once, and a pool with one is at rest', () =>
  play(async (world) => {
    await begun(world, { replicas: 2 });
    await annotate(world, { [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"1","action":' });
    expect(await answered(world, 1)).toBe(true);
    const { writes } = statusOf(world)!;
    await world.wait(10 * MINUTE_MS);
    expect(handled(world)).toMatchObject([{ outcome: 'Invalid', by: 'unknown' }]);
    expect(statusOf(world)!.writes).toBe(writes);
  }));
