import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  availableCondition,
  poolAvailability,
  type Availability,
} from '../../../decisions/scaling/available-condition.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVm, aVmi } from '../fixtures/fleets.ts';
import { aTemplate, DOWN, HALTED, NOW } from '../fixtures/rollout-pools.ts';

const vm = (number: number, fields: Partial<VmView> = {}): VmView => aVm(`web-${number}`, fields);
const many = (count: number, fields: Partial<VmView> = {}): VmView[] =>
  Array.from({ length: count }, (_, index) => vm(index + 1, fields));

function look(
  vms: VmView[],
  spec: Partial<PoolSpec> = {},
  readySince = NOW - 10_000,
): Availability & { says: string; message: string | undefined } {
  const pool = aPool({ replicas: 10, ...spec });
  const found = poolAvailability(
    pool,
    vms.filter(isRegular),
    (one) => (one.hasVmi ? aVmi(one, { readySince }) : undefined),
    NOW,
  );
  const { status, reason, message, observedGeneration } = availableCondition(pool, found);
  expect(observedGeneration).toBe(1);
  return { ...found, says: `${status} ${reason}`, message };
}
const YES = 'True MinimumReplicasAvailable';
const NO = 'False MinimumReplicasUnavailable';

describe('a pool is available', () => {
  test('while at most maxUnavailable of its VMs are missing or not ready', () => {
    expect(look(many(10))).toMatchObject({
      available: 10,
      unavailable: [],
      missing: 0,
      says: YES,
      message: '10 of 10 VMs are available',
    });
    expect(look([...many(7), vm(8, DOWN)])).toMatchObject({
      available: 7,
      unavailable: ['web-8'],
      missing: 2,
      says: NO,
    });
    expect(look([...many(8), vm(9, DOWN)]).says).toBe(YES);
    expect(look([...many(7), vm(8, DOWN)]).message).toBe(
      '7 of 10 VMs are available; 2 are missing; not available: web-8',
    );
  });

  test('only if some VM is there, whatever may be unavailable', () => {
    expect(look([])).toMatchObject({ available: 0, missing: 10, says: NO });
    expect(look([], { maxUnavailable: '100%' }).says).toBe(NO);
    expect(look([], { replicas: 1 }).says).toBe(NO);
    expect(look([vm(1, DOWN)], { replicas: 1 }).says).toBe(NO);
    expect(look([], { replicas: 0 }).says).toBe(YES);
  });

  test('not while all of its VMs are stopped, unless its template has none of them start', () => {
    const evicted = many(3, { runStrategy: 'RerunOnFailure', hasVmi: false, ready: false, state: 'Stopped' });
    const spec = { replicas: 3, template: aTemplate({ runStrategy: 'RerunOnFailure' }) };
    expect(look(evicted, spec)).toMatchObject({
      available: 0,
      unavailable: [],
      says: NO,
      message: '0 of 3 VMs are available; stopped by users or their guests: web-1 … web-3',
    });
    expect(look([...evicted.slice(0, 2), vm(3)], spec).says).toBe(YES);
    expect(look(many(3, HALTED), { replicas: 3, template: aTemplate({ runStrategy: 'Halted' }) })).toMatchObject({
      says: YES,
      message: '0 of 3 VMs are available; not started: web-1 … web-3',
    });
  });

  test('though its owner has stopped VMs, and without VMs that are terminating', () => {
    expect(look([...many(7), vm(8, HALTED), vm(9, HALTED), vm(10, HALTED)])).toMatchObject({
      available: 7,
      unavailable: [],
      says: YES,
      message: '7 of 10 VMs are available; stopped by users or their guests: web-8 … web-10',
    });
    expect(
      look([...many(7), vm(8, { deleting: true }), vm(9, { deleting: true }), vm(10, { removing: true })]),
    ).toMatchObject({ missing: 3, says: NO });
  });

  test('once its VMs have been ready for minReadySeconds', () => {
    const rollout = { minReadySeconds: 30 };
    expect(look(many(10), { rollout })).toMatchObject({ available: 0, says: NO, requeueAt: NOW + 20_000 });
    expect(look(many(10), { rollout }, NOW - 29_900)).toMatchObject({ says: NO, requeueAt: NOW + 1_000 });
    expect(look(many(10), { rollout }, NOW - 30_000)).toMatchObject({ says: YES, requeueAt: null });
  });
});
