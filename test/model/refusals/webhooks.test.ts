import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { VirtualMachineInstanceMigrations } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aTemplate } from '../pools.ts';
import { begun, isReady, play, statusOf } from '../stories/story.ts';
import type { Call } from '../world/model-client.ts';
import type { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
/** A webhook may refuse with any code; one that can't be called has not refused, and the API server says 500. */
const denied = (status: number): KubeError =>
  new KubeError(status, 'InternalError', 'admission webhook "policy.example.com" denied the request: not this one');
const notCalled = new KubeError(
  500,
  'InternalError',
  'Internal error occurred: failed calling webhook "virtualmachines-mutator.kubevirt.io": connection refused',
);

const writesVm = ({ verb, resource }: Call): boolean => verb === 'patch' && resource?.plural === 'virtualmachines';
const isUpdated = (world: World, count: number) => (): boolean => statusOf(world)?.updatedReplicas === count;
const progressing = (world: World): string =>
  statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing')?.message ?? '';

test.each([500, 503, 429])('a VM that a webhook refuses with %i fails its update, and the others continue', (status) =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1, rollout: { maxFailures: 2 } });
    world.refuse = (call) => (writesVm(call) && call.key.name === 'web-2' ? denied(status) : null);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    const hasFailed = (): boolean => statusOf(world)?.rollout?.failures.length === 1;
    expect(await world.until(() => hasFailed() && isUpdated(world, 2)(), 5 * MINUTE_MS)).toBe(true);
    expect(statusOf(world)?.rollout?.failures).toMatchObject([
      { vm: 'web-2', message: expect.stringContaining('denied the request') as unknown },
    ]);
  }),
);

test.each([403, 500])('a VM whose migration a webhook refuses with %i fails, and the others continue', (status) =>
  play(async (world) => {
    const updateStrategy = { proactive: { outdatedPods: 'Migrate' as const } };
    await begun(world, { replicas: 3, maxUnavailable: 1, updateStrategy, rollout: { maxFailures: 2 } });
    const { uid } = world.vmi('web-2')!.metadata;
    const isMeant = ({ verb, resource, key }: Call): boolean =>
      verb === 'create' && resource === VirtualMachineInstanceMigrations && key.name?.includes(uid) === true;
    world.refuse = (call) => (isMeant(call) ? denied(status) : null);
    await world.people.changePool('web', { template: aTemplate({ tier: 'gold' }) });
    const hasFailed = (): boolean => statusOf(world)?.rollout?.failures.length === 1;
    expect(await world.until(() => hasFailed() && isUpdated(world, 2)(), 5 * MINUTE_MS)).toBe(true);
  }),
);

test('a rollout whose webhook is down says so, fails no VM, and continues when the webhook answers', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1 });
    world.refuse = (call) => (writesVm(call) ? notCalled : null);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    const isSaid = (): boolean => progressing(world).includes('failed calling webhook');
    expect(await world.until(isSaid, 2 * MINUTE_MS)).toBe(true);
    await world.wait(20 * MINUTE_MS);
    // For a moment, when all of them are tried again, nothing is.
    expect(await world.until(isSaid, MINUTE_MS)).toBe(true);
    world.refuse = () => null;
    const isThrough = (): boolean => isUpdated(world, 3)() && isReady(world, 3)() && !isSaid();
    expect(await world.until(isThrough, 5 * MINUTE_MS)).toBe(true);
    expect(statusOf(world)?.rollout?.failures).toEqual([]);
  }));
