import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { droverCrds } from '../../../api/crd/crds.ts';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import { readyStateOf, type ReadyState } from '../../../clients/apply/ready-state.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import type { FailureReason } from '../../../decisions/owners/failures.ts';
import { containedPlan } from '../../../decisions/pool/contained-plan.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planReplicaSet } from '../../../decisions/replica-sets/plan.ts';
import type { Pool, StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aFailure, backoffFor } from '../fixtures/backoffs.ts';
import { anyFleet, aPool, aVm, given, quiet, REVISION, vmiOf } from '../fixtures/fleets.ts';
import { aStep, rolling } from '../fixtures/rollout-pools.ts';
import { aMember, aSet, still } from '../replica-sets/sets.ts';
import { kstatus, type WaitedFor } from './kstatus.ts';

const NOW = Date.UTC(2026, 0, 1);
const OLD = 'an-older-one';

interface Seen {
  said: WaitedFor;
  state: ReadyState['state'];
  conditions: Record<string, string>;
  status: PoolStatus;
}

/** What others see of a pool after a plan of it. */
function seen(spec: Partial<PoolSpec>, vms: VmView[], more: Partial<PoolPlanInput> = {}): Seen {
  const input: PoolPlanInput = {
    pool: aPool(spec),
    vms,
    ...quiet,
    vmiOf,
    burst: 250,
    now: NOW,
    ...more,
  };
  const { pool: stored, rollout } = input;
  const status = { ...stored.status!, ...(rollout && { rollout }) };
  const { plan } = containedPlan(given({ ...input, pool: { ...stored, status } }));
  const pool = { ...input.pool, status: plan.status ?? input.pool.status! };
  const conditions = (pool.status.conditions ?? []).filter(({ type }) => ABOUT.has(type));
  return {
    said: kstatus(pool),
    state: readyStateOf(Pools, pool as unknown as Stored<Pool>).state,
    conditions: Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`])),
    status: pool.status,
  };
}

const told = ({ status }: Seen) => status.conditions?.find(({ type }) => type === 'HousekeepingFailure')?.reason;
const ABOUT = new Set(['Ready', 'Reconciling', 'Stalled']);
const all = (fields: Partial<VmView> = {}): VmView[] => [1, 2, 3].map((number) => aVm(`web-${number}`, fields));
/** A pool that was refused something for so long. */
const since = (seconds: number, reason: FailureReason = 'FailedCreate'): Partial<PoolPlanInput> => {
  const failure = {
    ...aFailure(reason, 'exceeded quota'),
    since: new Date(NOW - seconds * 1000).toISOString(),
  };
  return { backoffs: backoffFor(reason, { failure }) };
};

/** What a tool makes of a set after a plan of it. */
const said = (spec: Parameters<typeof aSet>[0], vms: VmView[]): WaitedFor => {
  const set = aSet(spec);
  return kstatus({ ...set, status: planReplicaSet({ ...still, set, vms, vmiOf }).status! });
};

describe('a pool', () => {
  test('is ready only once all its VMs run its template and are available', () => {
    expect(seen({}, all())).toMatchObject({ said: 'Current', state: 'there', conditions: { Ready: 'True AsWanted' } });
    expect(seen({}, all().slice(1))).toMatchObject({
      said: 'InProgress',
      state: 'going',
      conditions: { Ready: 'False ScalingOut', Reconciling: 'True ScalingOut' },
    });
    expect(seen({}, all({ ready: false, state: 'Starting' }))).toMatchObject({
      said: 'InProgress',
      conditions: { Ready: 'False Starting', Reconciling: 'True Starting' },
    });
    expect(seen({}, all({ revision: OLD }))).toMatchObject({
      said: 'InProgress',
      conditions: { Ready: 'False RollingOut', Reconciling: 'True RollingOut' },
    });
  });

  test('neither is in progress nor has failed while it is paused, or waits for an approval', () => {
    const paused = seen({ paused: true }, all({ revision: OLD }));
    expect(paused).toMatchObject({ said: 'InProgress', state: 'stuck' });
    expect(paused.conditions).toEqual({ Ready: 'False Paused' });
    expect(seen({ paused: true }, all())).toMatchObject({ said: 'Current', state: 'there' });
    const pool = aPool({ rollout: { steps: [aStep(1)] } });
    const before = { ...seen({}, all()).status, currentRevision: OLD };
    const waiting = seen({}, [aVm('web-1'), ...all({ revision: OLD }).slice(1)], {
      pool: { ...pool, status: before },
      rollout: rolling({ revision: REVISION }),
    });
    expect(waiting).toMatchObject({ said: 'InProgress', state: 'going' });
    expect(waiting.conditions).toEqual({ Ready: 'False WaitingForApproval' });
  });

  test('is stalled after a failed rollout until that is over', () => {
    const { rollout: begun } = seen({}, all()).status;
    const halted = { kind: 'Failed', by: 'drover', at: '2026-01-01T00:00:00Z', reason: '1 VM failed' } as const;
    const failed = seen({}, all({ revision: OLD }), { rollout: { ...begun!, halted } });
    expect(failed).toMatchObject({ said: 'Failed', state: 'stuck' });
    expect(failed.conditions).toEqual({ Ready: 'False Failed', Stalled: 'True Failed' });
    const pool: StoredPool = { ...aPool(), status: failed.status };
    const again = seen({}, all(), { pool, rollout: begun! });
    expect(again.conditions).toEqual({ Ready: 'True AsWanted' });
  });

  test('is stalled by refused VMs after the deadline of its rollouts', () => {
    const spec = { rollout: { progressDeadlineSeconds: 60 } };
    expect(seen(spec, all().slice(1), since(59))).toMatchObject({ said: 'InProgress', state: 'going' });
    const refused = seen(spec, all().slice(1), since(60));
    expect(refused).toMatchObject({ said: 'Failed', state: 'stuck' });
    expect(refused.conditions).toEqual({ Ready: 'False FailedCreate', Stalled: 'True FailedCreate' });
  });

  test('is stalled by housekeeping that is refused only if that keeps it from what its spec says', () => {
    const spec = { rollout: { progressDeadlineSeconds: 120 }, revisionHistoryLimit: 0 };
    const unlabelled = [aVm('web-1'), aVm('web-2'), aVm('web-3', { ownLabels: {}, revision: null })];
    const seenAfter = (seconds: number, reason: FailureReason, vms: VmView[]): Seen => {
      const revisions = [OLD, REVISION].map((revision, index) => ({
        name: `web-${revision}`,
        revision,
        number: index + 1,
        template: null,
      }));
      return seen(spec, vms, { ...since(seconds, reason), revisions });
    };
    for (const [seconds, isTold, state] of [
      [59, false, 'InProgress'],
      [60, true, 'InProgress'],
      [120, true, 'Failed'],
    ] as const) {
      const refused = seenAfter(seconds, 'FailedLabel', unlabelled);
      expect(refused.said).toBe(state);
      expect(told(refused)).toBe(isTold ? 'FailedLabel' : undefined);
    }
    expect(seenAfter(120, 'FailedLabel', unlabelled).conditions).toMatchObject({ Stalled: 'True FailedLabel' });
    const kept = seenAfter(120, 'FailedDeleteRevisions', all());
    expect(kept).toMatchObject({ said: 'Current', conditions: { Ready: 'True AsWanted' } });
    expect(told(kept)).toBe('FailedDeleteRevisions');
    const starting = seenAfter(120, 'FailedDeleteRevisions', all({ ready: false, state: 'Starting' }));
    expect(starting).toMatchObject({ said: 'InProgress', conditions: { Reconciling: 'True Starting' } });
    expect(told(starting)).toBe('FailedDeleteRevisions');
    // Nothing is to be labelled any more.
    expect(told(seenAfter(120, 'FailedLabel', all()))).toBeUndefined();
  });

  test('is in progress, by the default of its status, while no worker has seen it', () => {
    for (const crd of droverCrds()) {
      const { status } = crd.spec.versions[0]!.schema.openAPIV3Schema.properties!;
      const object = { metadata: { generation: 1 }, status: status!['default'] as object };
      expect(kstatus(object)).toBe('InProgress');
    }
  });

  test('is judged alike by its conditions and by `drover apply --wait`, whatever its VMs', () => {
    const anySpec = fc.record({
      replicas: fc.integer({ min: 0, max: 6 }),
      paused: fc.boolean(),
      maxUnavailable: fc.constantFrom(1, '50%'),
    });
    fc.assert(
      fc.property(anySpec, anyFleet, (spec, vms) => {
        const { said, state, conditions, status } = seen(spec, vms);
        expect(said === 'Current').toBe(state === 'there');
        expect(said === 'Current').toBe(conditions['Ready'] === 'True AsWanted');
        expect(said === 'Failed').toBe(conditions['Stalled'] !== undefined);
        if (said === 'Failed') expect(state).toBe('stuck');
        if (conditions['Reconciling'] !== undefined) expect(state).toBe('going');
        expect(Object.keys(conditions).length).toBeLessThanOrEqual(2);
        if (said === 'Current')
          expect(status).toMatchObject({ observedGeneration: 1, replicas: spec.replicas, unavailableReplicas: 0 });
      }),
    );
  });
});

describe('a set', () => {
  const members = [1, 2, 3].map((number) => aMember(`web-${number}`));

  test('is ready only once all its members are there and available', () => {
    expect(said({}, members)).toBe('Current');
    expect(said({}, members.slice(1))).toBe('InProgress');
    expect(said({}, [...members.slice(1), aMember('web-1', { ready: false, state: 'Starting' })])).toBe('InProgress');
    expect(said({ replicas: 2 }, members)).toBe('InProgress');
  });

  test('is ready while it is paused if nothing is left to do', () => {
    expect(said({ paused: true }, members)).toBe('Current');
    expect(said({ paused: true }, members.slice(1))).toBe('InProgress');
  });
});
