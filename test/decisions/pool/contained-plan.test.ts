import { describe, expect, test } from 'vitest';
import { parseQuantity } from '../../../api/lib/quantity.ts';
import { noHealing } from '../../../decisions/healing/state.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import { containedPlan } from '../../../decisions/pool/contained-plan.ts';
import type { GivenInput } from '../../../decisions/pool/on-record.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { aPool, aVm, given, quiet } from '../fixtures/fleets.ts';

const idle = {
  ...given({ ...quiet, pool: aPool(), vms: [], burst: 250 }),
  inProgress: { creating: [], deleting: [] },
  batches: [],
  batchesNotBefore: 0,
  burst: 250,
  vms: [],
  vmiOf: () => undefined,
  revisions: [],
};
const inputOf = (spec: Parameters<typeof aPool>[0], more: Partial<GivenInput> = {}): GivenInput => ({
  ...idle,
  pool: aPool(spec),
  ...more,
});

function nested(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}
const deepTemplate = { spec: { x: nested(9_000), template: { spec: { domain: {} } } } } as never;

/** A pool that can't be planned for: reading its `maxUnavailable` throws. */
function poisoned(): GivenInput {
  const input = inputOf({ replicas: 2 });
  Object.defineProperty(input.pool.spec, 'maxUnavailable', {
    get: () => {
      throw new TypeError('the next bug');
    },
  });
  return input;
}

describe('a pool whose template is nested too deep', () => {
  test('is left as it is, and its status says where and why', () => {
    const { plan, error } = containedPlan(inputOf({ replicas: 2, template: deepTemplate }));
    expect(error).toBeNull();
    expect(plan).toMatchObject({ steps: [], phase: 'Failed', healing: { begin: [], cancel: [] } });
    expect(plan.status?.conditions).toContainEqual({
      type: 'Stalled',
      status: 'True',
      reason: 'InvalidTemplate',
      message: 'spec.template.spec.x.a.a.a.a is nested deeper than 64 levels: the template is not supported',
      lastTransitionTime: expect.any(String),
      observedGeneration: 1,
    });
    expect(plan.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'InvalidTemplate' }),
    );
  });

  test('says so once, and not again at each look', () => {
    const input = inputOf({ replicas: 2, template: deepTemplate });
    const { status } = containedPlan(input).plan;
    expect(containedPlan({ ...input, pool: { ...input.pool, status: status! } }).plan.status).toBeNull();
  });

  test('can be deleted with its VMs', () => {
    const input = inputOf({ replicas: 1, template: deepTemplate }, { vms: [aVm('web-1')] });
    const pool = { ...input.pool, metadata: { ...input.pool.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(containedPlan({ ...input, pool }).plan.steps).toMatchObject([{ kind: 'delete', vms: [{ name: 'web-1' }] }]);
  });
});

test('an error in a decision stalls only its own pool, and its status reports it', () => {
  expect(() => planPool({ ...poisoned(), rollout: null, healing: noHealing })).toThrow('the next bug');
  const { plan, error } = containedPlan(poisoned());
  expect(error?.message).toBe('the next bug');
  expect(plan.steps).toEqual([]);
  expect(plan.status!.conditions).toMatchObject([
    { type: 'Ready', status: 'False', reason: 'InternalError' },
    { type: 'Stalled', status: 'True', reason: 'InternalError' },
  ]);
  expect(plan.status!.conditions![1]!.message).toContain('the next bug');
});

test('removes the condition Stalled once a plan succeeds', () => {
  const input = inputOf({ replicas: 0 });
  const stalled = {
    type: 'Stalled',
    status: 'True' as const,
    reason: 'InternalError',
    message: 'x',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const pool = { ...input.pool, status: { replicas: 0, conditions: [stalled] } };
  const { status } = containedPlan({ ...input, pool }).plan;
  expect(status!.conditions!.map(({ type }) => type)).not.toContain('Stalled');
});

test('a value that is nested deeper than a stack has a canonical text all the same', () => {
  expect(canonical(nested(100_000))).toHaveLength(100_000 * 6 + 2);
  expect(canonical({ b: [1, { d: undefined, c: 'x' }], a: null })).toBe('{"a":null,"b":[1,{"c":"x"}]}');
});

test('a quantity of a million digits is invalid, and takes no time', () => {
  const before = performance.now();
  expect(parseQuantity('1'.repeat(1_000_000))).toBeNull();
  expect(performance.now() - before).toBeLessThan(100);
});
