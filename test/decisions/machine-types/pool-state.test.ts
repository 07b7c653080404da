import { describe, expect, test } from 'vitest';
import type { PoolSpec, RolloutStatus } from '../../../api/pool/pool.ts';
import { poolTransitionState } from '../../../decisions/machine-types/pool-state.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { transitionNeed } from '../../../decisions/machine-types/vm-need.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import {
  anOldVmi,
  aPoolVm,
  aTransition,
  aTypedPool,
  NEW,
  OLD,
  OTHER,
  recordOfOurs,
  rulesOf,
  snapshotOf,
} from './snapshots.ts';

function standOf(pool: StoredPool, vms: VmView[], transition: Transition = aTransition()) {
  const rules = rulesOf(transition);
  const snapshot = snapshotOf(vms, { pool });
  return { ...poolTransitionState(rules, { pool }), needs: vms.map((vm) => transitionNeed(rules, vm, snapshot)) };
}

const oldPool = aTypedPool(OLD);
const vmsOf = (pool: StoredPool, count = 2, fields: Partial<VmView> = {}): VmView[] =>
  Array.from({ length: count }, (_, index) => aPoolVm(index + 1, pool, fields));

describe('a pool whose template has the old type', () => {
  test('is left to its users, with its VMs: the template would bring the type back', () => {
    const message = `the template of its pool shop/web asks for ${OLD}: change that first`;
    expect(standOf(oldPool, vmsOf(oldPool, 1))).toMatchObject({
      state: 'excluded',
      needs: [{ need: 'excluded', message }],
    });
    expect(standOf(aTypedPool(OLD, { updateStrategy: { unmanaged: {} } }), vmsOf(oldPool, 1)).needs).toMatchObject([
      { need: 'excluded', message },
    ]);
  });
  test('says nothing of a VM that is not old, or not in scope', () => {
    expect(standOf(oldPool, vmsOf(oldPool, 1, { machineType: NEW })).needs).toMatchObject([{ need: 'nothing' }]);
    const others = aTransition({ scope: { names: ['db'] } });
    expect(standOf(oldPool, vmsOf(oldPool, 1), others).needs).toMatchObject([{ need: 'nothing' }]);
  });
  test('makes its VMs wait while it is being deleted', () => {
    const { metadata } = oldPool;
    const pool = { ...oldPool, metadata: { ...metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } };
    expect(standOf(pool, vmsOf(pool, 1)).needs).toMatchObject([{ need: 'deferred' }]);
  });
});

const told = (rollout: Partial<RolloutStatus>, spec: Partial<PoolSpec> = {}): StoredPool => {
  const pool = aTypedPool(NEW, spec);
  const revision = revisionOf(pool.spec.template);
  return {
    ...pool,
    status: {
      ...pool.status!,
      rollout: { revision, startedAt: '', batches: 1, lastBatch: 1, step: 0, failures: [], ...rollout },
    },
  };
};

describe('a pool whose template has a type that is not old', () => {
  const behind = vmsOf(oldPool, 1);
  const halted = { kind: 'Failed' as const, by: 'drover', at: '2026-01-02T03:04:05Z' };
  const pool = aTypedPool(NEW);

  test('rolls VMs that are behind', () => {
    const there = aPoolVm(2, pool, { machineType: NEW });
    expect(standOf(pool, [...behind, there])).toMatchObject({
      state: 'rolls',
      needs: [{ need: 'pool', message: null }, { need: 'nothing' }],
    });
    expect(standOf(aTypedPool(NEW, { updateStrategy: { unmanaged: {} } }), behind).needs).toMatchObject([
      { need: 'patch' },
    ]);
  });
  test('counts a VM as behind while its VMI comes from the template before', () => {
    const vm = aPoolVm(1, pool, { machineType: NEW });
    const vmi = anOldVmi(vm, { machineType: OLD, revision: revisionOf(oldPool.spec.template) });
    const snapshot = snapshotOf([vm], { pool, vmis: [vmi] });
    expect(transitionNeed(rulesOf(aTransition()), vm, snapshot)).toMatchObject({ need: 'pool' });
  });
  test('does not update VMs whose owners opted out', () => {
    expect(standOf(pool, vmsOf(oldPool, 1, { optedOut: true })).needs).toMatchObject([{ need: 'excluded' }]);
  });
  test('reports what keeps it from its VMs', () => {
    expect(standOf(told({ paused: { by: 'ann', at: '' } }), behind).needs).toMatchObject([
      { need: 'pool', message: 'its pool shop/web is paused' },
    ]);
    expect(standOf(told({}, { paused: true }), behind).needs).toMatchObject([
      { need: 'pool', message: 'its pool shop/web is paused' },
    ]);
    expect(standOf(told({ halted }), behind).needs).toMatchObject([
      { need: 'excluded', message: 'the rollout of its pool shop/web has ended: Failed' },
    ]);
    const failures = [{ vm: 'web-1', message: 'not ready', at: '' }];
    expect(standOf(told({ halted, failures }), behind).needs).toEqual([
      { need: 'failed', message: 'its pool shop/web could not update it: not ready' },
    ]);
    for (const updateStrategy of [{ opportunistic: {} }, { proactive: { disruption: 'Live' as const } }]) {
      const lazy = told({}, { updateStrategy });
      const old = [anOldVmi(behind[0]!)];
      const snapshot = (vmis: VmiView[]) => snapshotOf(behind, { pool: lazy, vmis });
      expect(transitionNeed(rulesOf(aTransition()), behind[0]!, snapshot(old))).toMatchObject({
        need: 'pool',
        message: 'its pool shop/web leaves restarts to its owner',
      });
      expect(transitionNeed(rulesOf(aTransition()), behind[0]!, snapshot([]))).toMatchObject({
        need: 'pool',
        message: null,
      });
    }
    // Failures of the previous rollout.
    expect(standOf(told({ revision: 'another', halted, failures }), behind).needs).toMatchObject([{ need: 'pool' }]);
  });
  test('ignores an old VM that has the new template, since a user changed it', () => {
    expect(standOf(pool, [aPoolVm(1, pool)]).needs).toMatchObject([{ need: 'patch' }]);
  });
});

test.each([null, ''])('a pool whose template leaves the type to KubeVirt has VMs like any others: %j', (type) => {
  const pool = aTypedPool(type);
  expect(standOf(pool, vmsOf(pool, 1))).toMatchObject({
    state: 'outOfScope',
    needs: [{ need: 'patch', setsLabel: true }],
  });
});

test('an undo gives VMs of a pool their types back like any others', () => {
  const undo = aTransition({ scope: { undoes: OTHER } });
  const pool = aTypedPool(null);
  const vms = [
    aPoolVm(1, pool, { machineType: NEW, transition: recordOfOurs({ id: OTHER }) }),
    aPoolVm(2, pool, { machineType: NEW }),
  ];
  expect(standOf(pool, vms, undo)).toMatchObject({
    state: 'outOfScope',
    needs: [{ need: 'check' }, { need: 'nothing' }],
  });
});
