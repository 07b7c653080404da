import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ORPHAN_FINALIZER, POOL_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { PoolStatus, ScaleInStrategy } from '../../../api/pool/pool.ts';
import { poolView } from '../../../decisions/from-object/owner.ts';
import type { PoolStep } from '../../../decisions/owners/steps.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { vmName } from '../../../decisions/template/vm-names.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aFailure, backoffFor } from '../fixtures/backoffs.ts';
import { anyFleet, aPool, aVm, aVmi, quiet, REVISION } from '../fixtures/fleets.ts';

const plan = (input: Partial<PoolPlanInput>) =>
  planPool({
    pool: aPool(),
    vms: [],
    ...quiet,
    burst: 250,
    ...input,
  });

const stepOf = <K extends PoolStep['kind']>(steps: PoolStep[], kind: K) =>
  steps.find((step) => step.kind === kind) as Extract<PoolStep, { kind: K }> | undefined;
const created = (steps: PoolStep[]): number[] => stepOf(steps, 'create')?.numbers ?? [];
const deleted = (steps: PoolStep[]): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map((vm) => vm.name) : []));

describe('scale-out', () => {
  test('fills gaps before it adds higher numbers', () => {
    const { steps } = plan({ pool: aPool({ replicas: 4 }), vms: [aVm('web-1'), aVm('web-3')] });
    expect(created(steps)).toEqual([2, 4]);
  });

  test('skips a name that a VM of another owner holds', () => {
    const { steps } = plan({ isVmNameTaken: (name) => name === 'web-2' });
    expect(created(steps)).toEqual([1, 3, 4]);
  });

  test('counts VMs in creation as there, so that a stale snapshot makes nothing twice', () => {
    const { steps } = plan({ inProgress: { creating: ['web-1', 'web-2'], deleting: [] } });
    expect(created(steps)).toEqual([3]);
  });

  test('waits for a VM that is being deleted, and reuses its number', () => {
    const going = [aVm('web-1'), aVm('web-2', { deleting: true }), aVm('web-3')];
    expect(plan({ vms: going }).steps).toEqual([]);
    expect(created(plan({ vms: [aVm('web-1'), aVm('web-3')] }).steps)).toEqual([2]);
  });

  test('reports what it does and why', () => {
    expect(stepOf(plan({}).steps, 'create')?.reason).toBe('create web-1 … web-3: 3 missing of 3');
  });

  test('begins with the finalizer: without it the pool could go before its VMs', () => {
    expect(plan({ pool: aPool({}, { finalizers: [] }) }).steps).toEqual([
      { kind: 'addFinalizer', reason: expect.any(String) as string },
    ]);
  });
});

/** A pool whose spec has no `replicas`, as a plan sees it. */
function stored(status: object | undefined): StoredPool {
  const { replicas: _, ...spec } = aPool().spec;
  return poolView({ ...aPool(), spec, ...(status === undefined ? {} : { status }) });
}

describe('a spec without replicas', () => {
  test('means one VM at first, and that is written down for whatever scales the pool', () => {
    const { steps, status } = plan({ pool: stored(undefined) });
    expect(created(steps)).toEqual([1]);
    expect(stepOf(steps, 'keepReplicas')).toEqual({
      kind: 'keepReplicas',
      replicas: 1,
      reason: 'the spec has no replicas: the number stays 1',
    });
    expect(status?.desiredReplicas).toBe(1);
  });

  test('keeps as many VMs as the pool wanted, however few of them are there', () => {
    const pool = stored({ desiredReplicas: 3, replicas: 1 });
    const { steps } = plan({ pool, vms: [aVm('web-1')] });
    expect(created(steps)).toEqual([2, 3]);
    expect(stepOf(steps, 'keepReplicas')?.replicas).toBe(3);
    // The API server's default for a status that no worker has written.
    expect(stored({ replicas: 0, observedGeneration: 0 }).spec.replicas).toBe(1);
  });

  test('is left alone in a pool that is deleted, and in a pool that has the number', () => {
    const going = {
      ...stored(undefined),
      metadata: { ...aPool().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    expect(stepOf(plan({ pool: going }).steps, 'keepReplicas')).toBeUndefined();
    expect(stepOf(plan({}).steps, 'keepReplicas')).toBeUndefined();
  });
});

describe('scale-in', () => {
  test('takes broken VMs first, then the order of the base policy', () => {
    const vms = [
      aVm('web-1', { createdAt: 1 }),
      aVm('web-2', { createdAt: 2 }),
      aVm('web-3', { createdAt: 3 }),
      aVm('web-4', { createdAt: 4, state: 'CrashLoopBackOff', ready: false }),
    ];
    const pool = aPool({ replicas: 2, scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } } });
    expect(deleted(plan({ pool, vms }).steps)).toEqual(['web-4', 'web-1']);
  });

  test.each<[ScaleInStrategy, string[]]>([
    [{ unmanaged: {} }, []],
    [{ opportunistic: {} }, ['web-2']],
    [{ proactive: {} }, ['web-2', 'web-1']],
  ])('%j', (scaleInStrategy, names) => {
    const vms = [aVm('web-1'), aVm('web-2', { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' })];
    expect(deleted(plan({ pool: aPool({ replicas: 0, scaleInStrategy }), vms }).steps)).toEqual(names);
  });

  test('with its disks kept, halts a running VM and deletes it only once its VMI is gone', () => {
    const pool = aPool({ replicas: 0, scaleInStrategy: { proactive: { statePreservation: 'Offline' } } });
    expect(plan({ pool, vms: [aVm('web-1')] }).steps).toMatchObject([{ kind: 'halt', vms: [{ name: 'web-1' }] }]);
    const stopping = aVm('web-1', { runStrategy: 'Halted', removing: true });
    expect(plan({ pool, vms: [stopping] }).steps).toEqual([]);
    expect(plan({ pool, vms: [{ ...stopping, hasVmi: false }] }).steps).toMatchObject([
      { kind: 'delete', keepDisks: true },
    ]);
  });

  test('halts a leaving VM again if a user starts it', () => {
    const started = aVm('web-1', { runStrategy: 'Always', removing: true });
    const halts = [
      {
        kind: 'halt',
        vms: [{ name: 'web-1' }],
        reason: 'halt web-1, to keep their disks: leaving the pool, but started again',
      },
    ];
    for (const vm of [started, { ...started, hasVmi: false }])
      expect(plan({ pool: aPool({ replicas: 0 }), vms: [vm] }).steps).toMatchObject(halts);
    expect(
      plan({ pool: aPool({ replicas: 0 }), vms: [started], inProgress: { creating: [], deleting: ['web-1'] } }).steps,
    ).toEqual([]);
  });

  test('replaces a VM that is on its way out, and does not keep it, when the pool grows again', () => {
    const vms = [aVm('web-1', { runStrategy: 'Halted', removing: true, hasVmi: false })];
    expect(plan({ pool: aPool({ replicas: 1 }), vms }).steps).toMatchObject([
      { kind: 'delete', vms: [{ name: 'web-1' }] },
    ]);
  });
});

describe('a deletion of the pool', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';

  test('deletes all VMs, and lets the pool go only when none is left', () => {
    const pool = aPool({}, { deletionTimestamp });
    expect(deleted(plan({ pool, vms: [aVm('web-1'), aVm('web-2', { deleting: true })] }).steps)).toEqual(['web-1']);
    expect(plan({ pool, vms: [aVm('web-2', { deleting: true })] }).steps).toEqual([]);
    expect(plan({ pool, vms: [] }).steps).toMatchObject([{ kind: 'removeFinalizer' }]);
  });

  test('keeps the finalizer while a VM may still be created', () => {
    expect(
      plan({ pool: aPool({}, { deletionTimestamp }), inProgress: { creating: ['web-1'], deleting: [] } }).steps,
    ).toEqual([]);
  });

  test('releases all VMs and deletes none with orphan deletion', () => {
    const pool = aPool({}, { deletionTimestamp, finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] });
    expect(plan({ pool, vms: [aVm('web-1')] }).steps).toMatchObject([{ kind: 'release', vms: [{ name: 'web-1' }] }]);
    const going = aVm('web-2', { deleting: true, keepsDisks: true });
    expect(plan({ pool, vms: [going] }).steps).toMatchObject([
      { kind: 'delete', keepDisks: true, vms: [{ name: 'web-2' }] },
    ]);
  });

  test('keeps the disks of VMs that were leaving without them', () => {
    const leaving = { removing: true, runStrategy: 'Halted' };
    const vms = [aVm('web-1', { ...leaving, hasVmi: false }), aVm('web-2', leaving), aVm('web-3')];
    expect(plan({ pool: aPool({}, { deletionTimestamp }), vms }).steps).toMatchObject([
      { kind: 'delete', keepDisks: true, vms: [{ name: 'web-1' }] },
      { kind: 'delete', keepDisks: false, vms: [{ name: 'web-3' }] },
    ]);
  });
});

test('the deletion of a VM that is held for its disks is continued by the next plan', () => {
  const vms = [aVm('web-1'), aVm('web-2', { deleting: true, keepsDisks: true })];
  expect(plan({ pool: aPool({ replicas: 1 }), vms }).steps).toMatchObject([
    { kind: 'delete', keepDisks: true, vms: [{ name: 'web-2' }] },
  ]);
  expect(plan({ pool: aPool({ replicas: 1 }), vms, inProgress: { creating: [], deleting: ['web-2'] } }).steps).toEqual(
    [],
  );
});

describe('the status', () => {
  test('is written only if it says something new', () => {
    const vms = [aVm('web-1')];
    const pool = aPool({ replicas: 1 });
    const { status } = plan({ pool, vms });
    expect(status).toMatchObject({
      replicas: 1,
      readyReplicas: 1,
      updatedReplicas: 1,
      labelSelector: 'drover.dev/pool=web',
      observedGeneration: 1,
    });
    const reordered = { ...pool, status: Object.fromEntries(Object.entries(status!).toReversed()) as PoolStatus };
    expect(plan({ pool: reordered, vms, rollout: status!.rollout! }).status).toBeNull();
  });

  test('counts no VM as ready whose VMI is terminating, though the VM says so only a moment later', () => {
    const vms = [aVm('web-1'), aVm('web-2')];
    const planned = plan({
      pool: aPool({ replicas: 2 }),
      vms,
      vmiOf: (vm) => aVmi(vm, { deleting: vm.name === 'web-1' }),
    });
    expect(planned.status).toMatchObject({ replicas: 2, readyReplicas: 1 });
    expect(planned.phase).toBe('Starting');
  });

  test('shows a failure to create until nothing is missing', () => {
    const failure = aFailure('FailedCreate', 'exceeded quota');
    const backoffs = backoffFor('FailedCreate', { failure });
    const condition = {
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedCreate',
      message: 'exceeded quota',
      lastTransitionTime: failure.since,
    };
    expect(plan({ backoffs }).status?.conditions).toContainEqual(condition);
    const whole = plan({ pool: aPool({ replicas: 1 }), vms: [aVm('web-1')], backoffs });
    expect(whole.failures).toEqual([]);
    expect(whole.status?.conditions?.map(({ type }) => type)).toEqual([
      'Ready',
      'Available',
      'Progressing',
      'UpToDate',
      'Paused',
      'Degraded',
    ]);
  });
});

describe('a plan for an arbitrary fleet', () => {
  const anyInput = fc
    .record({
      vms: anyFleet,
      replicas: fc.integer({ min: 0, max: 40 }),
      burst: fc.integer({ min: 1, max: 20 }),
      allowance: fc.integer({ min: 0, max: 20 }),
      inFlight: fc.uniqueArray(fc.integer({ min: 41, max: 60 }), { maxLength: 10 }),
      held: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 10 }),
      strategy: fc.constantFrom<ScaleInStrategy>(
        {},
        { unmanaged: {} },
        { opportunistic: {} },
        { proactive: { statePreservation: 'Offline' } },
        {
          proactive: {
            selectionPolicy: {
              orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'b' } } }],
              basePolicy: 'Newest',
            },
          },
        },
      ),
    })
    .map(({ vms, replicas, burst, allowance, inFlight, held, strategy }): PoolPlanInput => ({
      ...quiet,
      pool: aPool({ replicas, scaleInStrategy: strategy }),
      vms,
      isVmNameTaken: (name) =>
        held.some((number) => vmName('web', number) === name) && !vms.some((vm) => vm.name === name),
      inProgress: { creating: inFlight.map((number) => vmName('web', number)), deleting: [] },
      burst,
      backoffs: backoffFor('FailedCreate', { allowance }),
    }));

  test('makes no more VMs than wanted, has no more in progress than the burst, and gives no name twice', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { steps } = planPool(input);
        const names = created(steps).map((number) => vmName('web', number));
        const all = [...input.vms.map((vm) => vm.name), ...input.inProgress.creating, ...names];
        if (names.length > 0) expect(all.length).toBeLessThanOrEqual(input.pool.spec.replicas);
        expect(names.length).toBeLessThanOrEqual(input.backoffs.FailedCreate!.allowance!);
        if (names.length > 0) expect(names.length + input.inProgress.creating.length).toBeLessThanOrEqual(input.burst);
        expect(new Set(all).size).toBe(all.length);
        for (const name of names) expect(input.isVmNameTaken(name)).toBe(false);
      }),
    );
  });

  test('leaves no fewer VMs than wanted, and deletes none twice', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { steps } = planPool(input);
        const leaving = steps.flatMap((step) =>
          step.kind === 'delete' || step.kind === 'halt' ? step.vms.map((vm) => vm.name) : [],
        );
        expect(new Set(leaving).size).toBe(leaving.length);
        const newly = leaving.filter((name) => !input.vms.find((vm) => vm.name === name)?.removing);
        const active = input.vms.filter((vm) => !vm.deleting && !vm.removing).length + input.inProgress.creating.length;
        if (newly.length > 0) expect(active - newly.length).toBeGreaterThanOrEqual(input.pool.spec.replicas);
        for (const name of leaving) expect(input.vms.find((vm) => vm.name === name)?.deleting).toBe(false);
      }),
    );
  });

  test('is the same for the same snapshot, in whatever order that is read', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        expect(planPool({ ...input, vms: input.vms.toReversed() }).steps).toEqual(planPool(input).steps);
      }),
    );
  });
});

describe('the revision of the template', () => {
  const [mine, other] = ['mine', 'other'].map((revision, index) => ({
    name: `web-${revision}`,
    revision,
    number: index + 1,
    template: null,
  }));
  const kept = { ...mine!, revision: REVISION };
  const vms = ['web-1', 'web-2', 'web-3'].map((name) => aVm(name));
  const kinds = (input: Partial<PoolPlanInput>) => plan({ vms, ...input }).steps.map(({ kind }) => kind);

  test('becomes the newest as soon as an undo goes to it, even while nothing may be updated', () =>
    expect(kinds({ pool: aPool({ paused: true }), revisions: [kept, other!] })).toEqual(['createRevision']));

  test('is recorded again if a user has deleted it', () =>
    expect(kinds({ revisions: [] })).toEqual(['createRevision']));

  test('is left alone while it is the newest', () =>
    expect(kinds({ revisions: [{ ...kept, number: 3 }, other!] })).toEqual([]));
});
