import { expect, test } from 'vitest';
import { planRollout } from '../../../../decisions/rollout/plan.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import { BY_USER, SNAPSHOT } from '../../fixtures/fleets.ts';
import {
  aBatch,
  aStep,
  failure,
  fresh,
  HALTED,
  held,
  old,
  rolling,
  rolloutInput,
  type RolloutFields,
} from '../../fixtures/rollout-pools.ts';

const stopped = (n: number, of = old, fields: Partial<VmView> = {}): VmView =>
  of(n, { ...HALTED, role: 'Standby', standby: 'Stopped', ...fields });
const paused = (n: number, of = old): VmView => of(n, { role: 'Standby', standby: 'Paused', ready: false });
const asPaused = { pause: BY_USER, ready: false };

const plan = (fields: RolloutFields) =>
  planRollout(rolloutInput({ state: rolling(), ...fields, spec: { replicas: 2, maxUnavailable: 1, ...fields.spec } }));
const taken = (fields: RolloutFields): Record<string, string> =>
  Object.fromEntries(plan(fields).update?.batch.vms.map(({ name, act }) => [name, act]) ?? []);

const replicas = [old(1), old(2)];

test('standby VMs are taken first, all at once, even while the budget is used up and before a step', () => {
  const vms = [...replicas, stopped(3), paused(4)];
  const vmis = { 'web-4': asPaused };
  const all = { 'web-3': 'write', 'web-4': 'restart' };
  expect(taken({ vms, vmis })).toEqual(all);
  expect(taken({ vms: [old(1, { ready: false }), ...vms.slice(1)], vmis })).toEqual(all);
  expect(taken({ vms, vmis, spec: { rollout: { steps: [aStep(1)] } } })).toEqual(all);
  expect(taken({ vms, vmis, spec: { updateStrategy: { proactive: { disruption: 'None' } } } })).toEqual(all);
  expect(taken({ vms, vmis, spec: { updateStrategy: { opportunistic: {} } } })).toEqual(all);
  expect(plan({ vms, vmis, spec: { updateStrategy: { unmanaged: {} } } }).update).toBeNull();
});

test('replicas follow when no standby VM is left or in progress, within their budget, and the step counts them alone', () => {
  const going = aBatch([held(paused(3), 'restart', { role: 'Standby' })]);
  expect(taken({ vms: [...replicas, paused(3)], vmis: { 'web-3': asPaused }, batches: [going] })).toEqual({});
  const done = [...replicas, stopped(3, fresh), stopped(4, fresh)];
  const steps = [aStep(1)];
  expect(Object.keys(taken({ vms: done, spec: { rollout: { steps } } }))).toHaveLength(1);
  expect(plan({ vms: [fresh(1), old(2), ...done.slice(2)], spec: { rollout: { steps } } }).phase).toBe('Waiting');
});

test('a standby VM that cannot be touched holds up no replica, and one that does not come up fails the rollout', () => {
  expect(Object.keys(taken({ vms: [...replicas, stopped(3, old, { operations: SNAPSHOT })] }))).toEqual([
    'web-1',
    'web-2',
  ]);
  const failed = plan({ vms: [...replicas, paused(3)], state: rolling({ failures: [failure('web-3')] }) });
  expect([failed.phase, failed.update]).toEqual(['Failed', null]);
});

test('a standby VM that has failed stays failed when the rollout is complete, and is not tried again', () => {
  const state = rolling({ failures: [failure('web-3')] });
  const spec = { rollout: { onFailure: 'Continue' as const } };
  const over = plan({ vms: [fresh(1), fresh(2), paused(3)], state, spec });
  expect(over.state.failures).toEqual(state.failures);
  expect(plan({ vms: [fresh(1), fresh(2), paused(3)], state: over.state, spec }).update).toBeNull();
});

test('the rollout is over when standby VMs have it too, and they count in none of its numbers', () => {
  expect(plan({ vms: [fresh(1), fresh(2), stopped(3)] }).phase).toBe('RollingOut');
  const over = plan({ vms: [fresh(1), fresh(2), stopped(3, fresh)] });
  expect(over).toMatchObject({ phase: 'Complete', updated: 2, present: 2 });
});
