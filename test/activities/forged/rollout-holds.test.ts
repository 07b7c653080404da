import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  REVISION_LABEL,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type {
  HandledRequest,
  PoolSpec,
  PoolStatus,
  RolloutStatus,
  RolloutStep,
  StepCheck,
} from '../../../api/pool/pool.ts';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { digestOf, requestText } from '../../../decisions/owners/request.ts';
import { subjectOf } from '../../../decisions/rollout/checks/check.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { aTemplate } from '../../model/pools.ts';
import { planned } from './plan-request.ts';
import { keyOf, targetOf, virtualTime, World } from './world.ts';

beforeEach(virtualTime);
afterEach(() => void vi.useRealTimers());

const OLD = aTemplate({ disk: 'root', version: 1 });
const NEW = aTemplate({ disk: 'root', version: 2 });
const [FROM, TO] = [revisionOf(OLD), revisionOf(NEW)];
const LONG_AGO = '2026-01-01T00:00:00.000Z';
const BY = { by: 'ada', at: LONG_AGO };

const ROLLOUT: RolloutStatus = {
  revision: TO,
  startedAt: LONG_AGO,
  batches: 1,
  lastBatch: 1,
  inFlight: [1],
  step: 0,
  failures: [],
};
const STATUS: PoolStatus = {
  replicas: 3,
  observedGeneration: 1,
  writes: 7,
  currentRevision: FROM,
  updateRevision: TO,
  rollout: ROLLOUT,
};

type Change<T> = { [Field in keyof T]?: T[Field] | undefined };

interface Held {
  rollout: Partial<RolloutStatus>;
  spec?: Partial<PoolSpec>;
  /** What a user who may change the pool asks for, so that it continues. */
  request: { action: string; revision?: string; step?: number; full?: boolean };
  /** What the status says once that is done. */
  goesOn: Change<RolloutStatus>;
}

const CHECK: StepCheck = { prometheus: { address: 'http://prometheus', query: 'up', min: 1 }, holdsFor: '5m' };
/** What a caller may make up: the check has held for an hour. */
const HELD_LONG = {
  of: subjectOf(CHECK, { ...ROLLOUT, stepReachedAt: LONG_AGO })!,
  startedAt: LONG_AGO,
  lastAt: new Date().toISOString(),
  outcome: 'Holds',
  message: '1 is at least 1',
  inARow: 60,
  holdsSince: LONG_AGO,
  holdsUntil: new Date().toISOString(),
} as const;

const atStep = (then: RolloutStep['then']): Pick<PoolSpec, 'rollout'> => ({ rollout: { steps: [aStep(1, then)] } });
const HELD: Record<string, Held> = {
  'is paused': { rollout: { paused: BY }, request: { action: 'resume' }, goesOn: { paused: undefined } },
  'has failed': {
    rollout: { halted: { ...BY, kind: 'Failed' } },
    request: { action: 'resume', revision: TO },
    goesOn: { halted: undefined, failures: [] },
  },
  'was aborted': {
    rollout: { halted: { ...BY, kind: 'Aborted' } },
    request: { action: 'resume', revision: TO },
    goesOn: { halted: undefined, failures: [] },
  },
  'waits for an approval': {
    rollout: { stepReachedAt: LONG_AGO },
    spec: atStep({ approval: {} }),
    request: { action: 'promote', revision: TO, step: 1 },
    goesOn: { step: 1, stepReachedAt: undefined },
  },
  'has not reached its step for long': {
    rollout: { stepReachedAt: new Date(Date.now() - 60_000).toISOString() },
    spec: atStep({ wait: '1h' }),
    request: { action: 'promote', revision: TO, full: true },
    goesOn: { step: 1, stepReachedAt: undefined },
  },
};

/** A pool of three VMs of which one has its newest template, in a cluster as a worker sees it. */
async function given({ rollout, spec = {}, request }: Held, isAsked = false) {
  const world = new World();
  const text = requestText({ id: '1', ...request });
  const annotations = isAsked ? { [ROLLOUT_REQUEST_ANNOTATION]: text, [ROLLOUT_REQUESTED_BY_ANNOTATION]: 'ada' } : {};
  const pool = world.pool('web', { replicas: 3, maxUnavailable: 3, template: NEW, ...spec }, { annotations });
  world.revision(pool, 1, OLD);
  world.revision(pool, 2, NEW);
  const old = { ...pool, spec: { ...pool.spec, template: OLD } };
  const vms = [world.vm(pool, 1), world.vm(old, 2), world.vm(old, 3)];
  world.server.write(
    VirtualMachinePools,
    pool.metadata,
    (before) => ({ ...before, status: { ...STATUS, rollout: { ...ROLLOUT, ...rollout } } }),
    'status',
  );
  await world.start();
  return { world, pool, vms, answer: { digest: digestOf(text), id: '1', ...BY, action: request.action } };
}

/** Says that a batch has begun at any time: it waits for 2 s whether the status says that the rollout continues. */
const updated = (world: World, pool: Stored & StoredPool, vms: readonly Stored[], startedAt: number) =>
  world.written('updateVms', [
    {
      key: keyOf(pool),
      n: 1,
      revision: TO,
      rollout: TO,
      vms: vms.map((vm) => ({ ...targetOf(vm), act: 'restart', from: FROM, wasDown: false })),
      startedAt,
      begun: [],
      minReadyMs: 0,
      deadlineMs: 1,
      mayFail: null,
      minVersions: {},
    },
  ]);

/** Has the pool's status say this. */
const record = (world: World, pool: Stored, change: object): void =>
  void world.server.write(
    VirtualMachinePools,
    pool.metadata,
    (before) => ({ ...before, status: { ...(before as StoredPool).status, ...change } }),
    'status',
  );

const withRollout = (rollout: Change<RolloutStatus>, more: Change<PoolStatus> = {}) => ({
  ...STATUS,
  writes: 8,
  rollout: { ...ROLLOUT, ...rollout },
  ...more,
});

const revisionsOf = (world: World): unknown[] =>
  world.server.all(VirtualMachines).map(({ metadata }) => metadata.labels?.[REVISION_LABEL]);

describe.each(Object.entries(HELD))('a rollout that %s', (_what, held) => {
  test.each([0, Date.now() + 3_600_000])('stays so for a batch that claims to have begun at %d', async (startedAt) => {
    const { world, pool, vms } = await given(held);
    await updated(world, pool, vms, startedAt);
    expect(revisionsOf(world)).toEqual([TO, FROM, FROM]);
  });

  test('continues if a user who may change the pool asks for that', async () => {
    const { world, pool, vms, answer } = await given(held, true);
    const handledRequests: HandledRequest[] = [{ ...answer, outcome: 'Done', message: 'done' }];
    const status = withRollout({ ...held.rollout, ...held.goesOn, handledRequests });
    record(world, pool, status);
    await updated(world, pool, vms, Date.now());
    expect(revisionsOf(world)).toEqual([TO, TO, TO]);
  });

  test('stays so whatever its workflow says and was told by signals', async () => {
    const { world, pool } = await given(held);
    const rollout = [{ kind: 'resume' }, { kind: 'fail', revision: TO, failures: [] }];
    await planned(world, { writes: 7, told: { rollout, healing: [] } });
    expect(world.answer).toMatchObject({ isRecorded: true, steps: [] });
    const { status } = world.server.get(VirtualMachinePools, pool.metadata) as unknown as StoredPool;
    expect(status).toMatchObject({ writes: 8, rollout: held.rollout });
  });
});

test.each([[[]], [[2]]])('a batch that the status of its pool does not name acts on nothing: %j', async (inFlight) => {
  const { world, pool, vms } = await given({ rollout: { inFlight }, request: { action: 'resume' }, goesOn: {} });
  await updated(world, pool, vms, Date.now());
  expect(revisionsOf(world)).toEqual([TO, FROM, FROM]);
  record(world, pool, withRollout({}));
  await updated(world, pool, vms, Date.now());
  expect(revisionsOf(world)).toEqual([TO, TO, TO]);
});

test.each([
  ['1h', 3_600, 0],
  ['1m', 3_600, 1],
])('a step of %s lasts that long for a workflow whose clock is %d s ahead', async (wait, ahead, step) => {
  const rollout = { stepReachedAt: new Date().toISOString() };
  const { world } = await given({ rollout, spec: atStep({ wait }), request: { action: 'resume' }, goesOn: {} });
  await planned(world, { now: Date.now() + ahead * 1_000 });
  expect(world.answer).toMatchObject({ rollout: { state: { step } } });
});

test('a check passes its step by what a worker has recorded, about this step', async () => {
  const { world, pool } = await given({
    rollout: { stepReachedAt: LONG_AGO },
    spec: atStep({ check: CHECK }),
    request: { action: 'promote', revision: TO, step: 1 },
    goesOn: {},
  });
  await world.written('lookAtCheck', [keyOf(pool), Date.now()]);
  expect(world.server.get(VirtualMachinePools, pool.metadata)).toMatchObject({
    status: { check: { outcome: 'Unknown', message: expect.stringContaining('DROVER_CHECK_ADDRESSES') as string } },
  });
  const stepOf = async (check: object): Promise<unknown> => {
    record(world, pool, { check });
    await planned(world, { minVersions: { pools: world.server.version } });
    return (world.answer as { rollout: { state: RolloutStatus } }).rollout.state.step;
  };
  expect(await stepOf({ ...HELD_LONG, of: { ...HELD_LONG.of, digest: 'another' } })).toBe(0);
  expect(await stepOf(HELD_LONG)).toBe(1);
});
