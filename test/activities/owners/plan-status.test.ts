import { CancelledFailure } from '@temporalio/common';
import { expect, test, vi } from 'vitest';
import { ROLLOUT_REQUEST_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { requestText } from '../../../decisions/owners/request.ts';
import { RESTORED } from '../../../decisions/pool/on-record.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';
import { planned } from '../forged/plan-request.ts';
import { World } from '../forged/world.ts';

interface Answer {
  writes: number;
  steps: object[];
  written: { isWritten?: true; isLate?: true; failed?: string };
  isForeign?: true;
  isRecorded: boolean;
}

/** A pool that lacks a VM, whose status has been written once, and a worker of its own workflow. */
async function given(annotations = {}) {
  const world = new World();
  const pool = world.pool('web', { replicas: 1 }, { annotations });
  await world.start();
  return {
    world,
    pool,
    status: () => (world.server.get(VirtualMachinePools, pool.metadata) as unknown as StoredPool).status!,
    plan: async (request: object = {}): Promise<Answer> => {
      await planned(world, { minVersions: { pools: world.server.version }, writes: 1, ...request });
      return world.answer as Answer;
    },
  };
}

/** Has the next write of a status end like this. `isDone`: although the API server carries it out. */
function failNext(world: World, error: Error, isDone = false): void {
  const patch = world.client.patch.bind(world.client);
  vi.spyOn(world.client, 'patch').mockImplementationOnce(async (...args) => {
    if (isDone) await patch(...args);
    throw error;
  });
}

const LOST = new KubeUnreachable('the connection was closed');

test('a status is written before the steps of its plan begin, and once', async () => {
  const { plan, status } = await given();
  const first = await plan();
  expect(first).toMatchObject({ writes: 2, minVersions: { pools: expect.any(String) as unknown } });
  expect(first.written).toEqual({ isWritten: true });
  expect(first.steps).not.toEqual([]);
  expect(status()).toMatchObject({ writes: 2, turn: 'run/1', readyReplicas: 0 });
  expect(await plan({ turn: 2, writes: 2 })).toMatchObject({ writes: 2, written: {} });
});

test.each<[string, Error]>([
  ['the API server is away', LOST],
  ['the status is too large', new KubeError(413, 'RequestEntityTooLarge', 'limit is 3145728')],
  ['the definition of pools refuses it', new KubeError(422, 'Invalid', 'turn is not known')],
])("a status that can't be written holds back no VM: %s", async (_why, error) => {
  const { world, plan, status } = await given();
  vi.spyOn(world.client, 'patch').mockRejectedValue(error);
  for (let turn = 1; turn < 4; turn++) {
    const { written, steps } = await plan({ turn, writes: turn === 1 ? 1 : 2 });
    expect(written).toEqual({ failed: error.message });
    expect(steps).toContainEqual(expect.objectContaining({ kind: 'create' }));
  }
  expect(status().writes).toBe(1);
});

test.each([true, false])(
  'a status whose write has an unknown result begins nothing that rests on it: %s',
  async (isDone) => {
    const { world, plan, status } = await given();
    failNext(world, LOST, isDone);
    expect(await plan()).toMatchObject({ writes: 1, written: { failed: LOST.message }, isRecorded: false });
    expect(status().writes).toBe(isDone ? 2 : 1);
    const next = await plan({ turn: 2 });
    expect(next).not.toHaveProperty('isForeign');
    expect(next).toMatchObject({ writes: 2, isRecorded: true });
    expect(status().writes).toBe(2);
  },
);

test('a plan whose answer was lost is made again by another worker: it is not taken for that of others', async () => {
  const { plan, status } = await given();
  const { steps } = await plan();
  const again = await plan();
  expect(again).not.toHaveProperty('isForeign');
  expect(again).toMatchObject({ writes: 2, steps });
  expect(status().writes).toBe(2);
});

test('what a plan answers is an Event, once, though its worker ends as soon as the status is written', async () => {
  const request = { [ROLLOUT_REQUEST_ANNOTATION]: requestText({ id: '1', action: 'pause' }) };
  const { world, plan, status } = await given(request);
  failNext(world, new CancelledFailure('the worker is shutting down'), true);
  await plan();
  expect(world.failure).toBeInstanceOf(CancelledFailure);
  await plan();
  await plan({ turn: 2, writes: 2 });
  expect(status().rollout!.handledRequests).toHaveLength(1);
  expect(new Set(world.client.events.map(({ metadata }) => metadata.name)).size).toBe(1);
});

test('of two plans of one turn, one status is written, and the other does not undo it', async () => {
  const { world, pool, plan, status } = await given();
  const [frozen, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.client.onWrite = () => (frozen.resolve(), thawed.promise);
  const first = plan();
  await frozen.promise;
  world.client.onWrite = () => {};
  world.server.write(VirtualMachinePools, pool.metadata, (before) => ({
    ...before,
    spec: { ...(before as StoredPool).spec, replicas: 2 },
  }));
  await plan();
  thawed.resolve();
  await first;
  expect(status()).toMatchObject({ writes: 2, desiredReplicas: 2 });
});

test('a status of another workflow is the record, and is told', async () => {
  const { world, pool, plan, status } = await given();
  await plan();
  const paused = { by: 'kim', at: '2026-01-01T00:00:00.000Z' };
  world.server.write(
    VirtualMachinePools,
    pool.metadata,
    (before) => {
      const { rollout, ...rest } = (before as StoredPool).status!;
      return { ...before, status: { ...rest, rollout: { ...rollout, paused }, writes: 5, turn: 'another/1' } };
    },
    'status',
  );
  const yields = await plan({ turn: 2, writes: 2, yieldsToOthers: true });
  expect(yields).toMatchObject({ isForeign: true, written: {}, writes: 5 });
  expect(status()).toMatchObject({ writes: 5, turn: 'another/1' });
  const overrules = await plan({ turn: 2, writes: 2 });
  expect(overrules).toMatchObject({ isForeign: true, written: { isWritten: true }, rollout: { state: { paused } } });
  expect(status().rollout).toMatchObject({ paused });
  expect(await plan({ turn: 3, writes: status().writes })).not.toHaveProperty('isForeign');
});

test('what an API server that has forgotten writes may have held is paused', async () => {
  const { world, pool, plan, status } = await given();
  await plan();
  const rollout = { ...status().rollout!, startedAt: '2026-01-01T00:00:00.000Z' };
  delete rollout.completedAt;
  world.server.write(
    VirtualMachinePools,
    pool.metadata,
    (before) => ({ ...before, status: { ...(before as StoredPool).status, rollout } }),
    'status',
  );
  failNext(world, LOST);
  expect(await plan({ turn: 2, writes: 9 })).toMatchObject({ isRecorded: false });
  await plan({ turn: 3, writes: 9 });
  expect(status().rollout!.paused).toMatchObject({ by: 'drover', reason: RESTORED });
});

test.each([
  ['of an earlier pool of the name', { uid: 'another' }],
  ['that is to wait', { holdsStatus: 'All' }],
])('no status is written for a workflow %s', async (_which, request) => {
  const { plan, status } = await given();
  const { steps, ...answer } = await plan(request);
  expect(answer).toMatchObject({ writes: 1, written: {} });
  expect(steps).not.toEqual([]);
  expect(status().writes).toBe(1);
});
