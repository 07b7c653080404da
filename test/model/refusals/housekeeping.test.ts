import '../world/real-code.ts';
import { describe, expect, test } from 'vitest';
import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Condition, Stored } from '../../../api/objects.ts';
import { ControllerRevisions } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aTemplate } from '../pools.ts';
import { begun, play, statusOf } from '../stories/story.ts';
import type { Call } from '../world/model-client.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
/** Tries within ten minutes of a minute each, of four calls each. */
const MAX_TRIES = 45;

const denied = new KubeError(403, 'Forbidden', 'admission webhook "protection" denied the request');
const deletesRevision = ({ verb, resource }: Call): boolean =>
  verb === 'delete' && resource?.plural === 'controllerrevisions';

const conditionOf = (world: World, type: string): Condition | undefined =>
  statusOf(world)?.conditions?.find((condition) => condition.type === type);
const isTold = (world: World) => (): boolean => conditionOf(world, 'HousekeepingFailure') !== undefined;

/** Has the API server refuse such calls of workers, and returns when it has. */
function refusing(world: World, isRefused: (call: Call) => boolean): number[] {
  const times: number[] = [];
  world.refuse = (call) => {
    if (!isRefused(call)) return null;
    times.push(world.time.now);
    return denied;
  };
  return times;
}

/** A pool that keeps no old revision and may not delete the one that it has left; returns when it has tried. */
async function stuck(world: World): Promise<number[]> {
  await begun(world, { replicas: 2, revisionHistoryLimit: 0 });
  const times = refusing(world, deletesRevision);
  await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
  expect(await world.until(() => times.length > 0, 5 * MINUTE_MS)).toBe(true);
  return times;
}

describe('housekeeping that the API server refuses', () => {
  test('is reported after a minute, with its message and since when, until it passes', () =>
    play(async (world) => {
      const times = await stuck(world);
      await world.wait(MINUTE_MS / 2);
      expect(isTold(world)()).toBe(false);
      expect(await world.until(isTold(world), 2 * MINUTE_MS)).toBe(true);
      const told = conditionOf(world, 'HousekeepingFailure')!;
      expect(told).toMatchObject({
        status: 'True',
        reason: 'FailedDeleteRevisions',
        message: `forget 1 revisions that nothing uses: ${denied.message}`,
      });
      expect(Math.abs(Date.parse(told.lastTransitionTime!) - times[0]!)).toBeLessThan(5_000);
      const tried = times.length;
      await world.wait(10 * MINUTE_MS);
      expect(conditionOf(world, 'HousekeepingFailure')).toEqual(told);
      expect(times.length - tried).toBeLessThan(MAX_TRIES);
      // All that the spec says is so all the while.
      expect(conditionOf(world, 'Ready')?.status).toBe('True');
      world.refuse = () => null;
      expect(await world.until(() => !isTold(world)(), 2 * MINUTE_MS)).toBe(true);
    }));

  test('for seconds at a time is not reported', () =>
    play(async (world) => {
      await begun(world, { replicas: 1, revisionHistoryLimit: 0 });
      for (const version of [2, 3, 4]) {
        const times = refusing(world, deletesRevision);
        await world.people.changePool('web', { template: aTemplate({ version }) });
        expect(await world.until(() => times.length > 0, 5 * MINUTE_MS)).toBe(true);
        await world.wait(20_000);
        world.refuse = () => null;
        expect(await world.until(isTold(world), MINUTE_MS)).toBe(false);
      }
    }));

  test('is no longer reported once it is no longer due', () =>
    play(async (world) => {
      await stuck(world);
      expect(await world.until(isTold(world), 3 * MINUTE_MS)).toBe(true);
      await world.people.changePool('web', { revisionHistoryLimit: 5 });
      expect(await world.until(() => !isTold(world)(), 10_000)).toBe(true);
    }));

  test('of some VMs holds back no other VM', () =>
    play(async (world) => {
      await begun(world, { replicas: 12, scaleInStrategy: { unmanaged: {} } });
      const names = Array.from({ length: 12 }, (_, index) => `web-${index + 1}`);
      const poolOf = (name: string): string | undefined => world.vm(name)?.metadata.labels?.[POOL_LABEL];
      for (const name of names) await world.people.detach(name);
      expect(await world.until(() => names.every((name) => poolOf(name) === undefined), MINUTE_MS)).toBe(true);
      refusing(world, ({ verb, key }) => verb === 'patch' && names.slice(0, 10).includes(key.name ?? ''));
      for (const name of names) await world.people.adopt(name, 'web');
      const others = names.slice(10);
      expect(await world.until(() => others.every((name) => poolOf(name) === 'web'), 2 * MINUTE_MS)).toBe(true);
      world.refuse = () => null;
      expect(await world.until(() => names.every((name) => poolOf(name) === 'web'), 2 * MINUTE_MS)).toBe(true);
    }));

  test('holds back no housekeeping that waits for everything else', () =>
    play(async (world) => {
      await begun(world, { replicas: 2 });
      await world.people.detach('web-2');
      expect(await world.until(() => world.vm('web-2')?.metadata.labels?.[POOL_LABEL] === undefined, MINUTE_MS)).toBe(
        true,
      );
      await world.people.changePool('web', { replicas: 2 });
      const times = refusing(world, ({ verb, key }) => verb === 'patch' && key.name === 'web-2');
      await world.people.adopt('web-2', 'web');
      expect(await world.until(() => times.length > 0, MINUTE_MS)).toBe(true);
      // KubeVirt keeps revisions of VMs, too.
      const revisions = (): Stored[] =>
        world.server
          .all(ControllerRevisions)
          .filter(({ metadata }) => metadata.namespace === NAMESPACE && metadata.name.startsWith('web-'));
      await world.people.client.delete(ControllerRevisions, {
        namespace: NAMESPACE,
        name: revisions()[0]!.metadata.name,
      });
      expect(revisions()).toEqual([]);
      expect(await world.until(() => revisions().length > 0, 2 * MINUTE_MS)).toBe(true);
      expect(await world.until(isTold(world), 3 * MINUTE_MS)).toBe(true);
      expect(conditionOf(world, 'HousekeepingFailure')).toMatchObject({ reason: 'FailedLabel' });
    }));
});
