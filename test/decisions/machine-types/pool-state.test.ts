import { describe, expect, test } from 'vitest';
import type { PoolSpec, RolloutStatus } from '../../../api/pool/pool.ts';
import { poolTransitionState, templateTypeOf } from '../../../decisions/machine-types/pool-state.ts';
import type { TransitionRulesInput } from '../../../decisions/machine-types/transition-rules.ts';
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
  OTHER_RUNS,
  snapshotOf,
  recordOfOurs,
  resultOf,
  rulesOf,
} from './snapshots.ts';

function standOf(
  pool: StoredPool,
  vms: VmView[],
  transition: Transition = aTransition(),
  input: Partial<TransitionRulesInput> = {},
) {
  const snapshot = snapshotOf(vms, { pool });
  const rules = rulesOf(transition, input);
  return {
    ...poolTransitionState(rules, [...snapshot.pools()][0]!, snapshot),
    needs: vms.map((vm) => transitionNeed(rules, vm, snapshot)),
  };
}

const oldPool = aTypedPool(OLD);
const vmsOf = (pool: StoredPool, count = 2, fields: Partial<VmView> = {}): VmView[] =>
  Array.from({ length: count }, (_, index) => aPoolVm(index + 1, pool, fields));

describe('a pool whose template has the old type', () => {
  test('is changed, and its VMs are its own', () => {
    const { state, needs } = standOf(oldPool, vmsOf(oldPool));
    expect(state).toBe('change');
    expect(needs).toMatchObject([{ need: 'pool', message: null }, { need: 'pool' }]);
    expect(
      standOf(oldPool, vmsOf(oldPool), aTransition({ to: NEW }), { results: [resultOf(vmsOf(oldPool)[0]!, NEW)] }),
    ).toMatchObject({ state: 'change', to: NEW });
  });
  test('is changed though it has no VMs yet, if its first would be in scope', () => {
    expect(standOf(oldPool, [])).toMatchObject({ state: 'change', to: null });
    expect(standOf(oldPool, [], aTransition({ scope: { namespaces: ['bank'] } })).state).toBe('outOfScope');
    expect(standOf(oldPool, [], aTransition({ scope: { exclude: ['web-*'] } })).state).toBe('outOfScope');
    expect(standOf(oldPool, [], aTransition({ scope: { only: 'stopped' } })).state).toBe('outOfScope');
  });
  test('is skipped if some of its VMs are out of scope, and does not concern the transition if all are', () => {
    const why = 'pool shop/web has VMs that were not chosen';
    for (const scope of [{ names: ['web-1'] }, { exclude: ['web-2'] }]) {
      expect(standOf(oldPool, vmsOf(oldPool), aTransition({ scope }))).toMatchObject({
        state: 'excluded',
        needs: [{ need: 'excluded', message: why }, { need: 'nothing' }],
      });
    }
    expect(standOf(oldPool, vmsOf(oldPool), aTransition({ scope: { names: ['db'] } })).state).toBe('outOfScope');
  });
  test('is skipped if nothing rolls its VMs', () => {
    expect(standOf(aTypedPool(OLD, { updateStrategy: { unmanaged: {} } }), vmsOf(oldPool))).toMatchObject({
      state: 'excluded',
      needs: [{ need: 'excluded' }, { need: 'excluded' }],
    });
  });
  test('waits until the resulting type of its VMs is known, and is skipped if that is not acceptable', () => {
    expect(standOf(oldPool, vmsOf(oldPool), undefined, { results: [] })).toMatchObject({
      state: 'check',
      needs: [{ need: 'check' }, { need: 'check' }],
    });
    const results = [resultOf(vmsOf(oldPool)[0]!, null, { fault: 'no' })];
    expect(standOf(oldPool, vmsOf(oldPool), undefined, { results })).toMatchObject({
      state: 'excluded',
      message: 'no',
    });
  });
  test('waits for another transition that has changed it and still runs', () => {
    const pool = aTypedPool(OLD, {}, recordOfOurs({ id: OTHER, from: NEW, to: OLD }));
    expect(standOf(pool, vmsOf(pool), undefined, { othersRunning: OTHER_RUNS })).toMatchObject({
      state: 'deferred',
      message: 'operation shop/other is changing it, until that ends or is aborted',
    });
    expect(standOf(pool, vmsOf(pool)).state).toBe('change');
  });
  test('is left to another running transition that has changed its template, and its VMs are not rolled in between', () => {
    for (const to of ['', NEW]) {
      const pool = aTypedPool(to, {}, recordOfOurs({ id: OTHER, to }));
      const vms = [...vmsOf(oldPool, 1), aPoolVm(2, pool, { machineType: NEW })];
      const why = 'operation shop/other is changing it, until that ends or is aborted';
      expect(standOf(pool, vms, undefined, { othersRunning: OTHER_RUNS })).toMatchObject({
        state: 'deferred',
        needs: [{ need: 'deferred', message: why }, { need: 'nothing' }],
      });
      expect(standOf(pool, vms).needs).toMatchObject([{ need: to === '' ? 'patch' : 'pool' }, { need: 'nothing' }]);
    }
    const pool = aTypedPool(NEW, {}, recordOfOurs({ id: OTHER, to: NEW }));
    const undo = aTransition({ scope: { undoes: '88888888' } });
    expect(standOf(pool, vmsOf(oldPool), undo, { othersRunning: OTHER_RUNS })).toMatchObject({
      state: 'outOfScope',
      needs: [{ need: 'nothing' }, { need: 'nothing' }],
    });
  });
  test('does not wait for the resulting type of a VM that opted out', () => {
    const exempt = { optedOut: true, machineType: 'pc-q35-rhel8.2.0' };
    expect(standOf(oldPool, [...vmsOf(oldPool, 1), aPoolVm(2, oldPool, exempt)])).toMatchObject({
      state: 'change',
      needs: [{ need: 'pool' }, { need: 'excluded' }],
    });
  });
  test('does not update VMs whose owners opted out', () => {
    expect(standOf(oldPool, vmsOf(oldPool, 1, { optedOut: true })).needs).toMatchObject([{ need: 'excluded' }]);
  });
});

const changed = (fields: Partial<PoolSpec> = {}) => aTypedPool(NEW, fields, recordOfOurs());

const told = (rollout: Partial<RolloutStatus>, spec: Partial<PoolSpec> = {}): StoredPool => {
  const pool = changed(spec);
  const revision = revisionOf(pool.spec.template);
  return {
    ...pool,
    status: {
      ...pool.status!,
      rollout: { revision, startedAt: '', batches: 1, lastBatch: 1, step: 0, failures: [], ...rollout },
    },
  };
};

/**
 * What the only VM of a pool needs. Its spec follows the pool's template, and its VMI has these fields; null: no VMI.
 */
const needOf = (pool: StoredPool, fields: Partial<VmiView> | null, of: Partial<VmView> = {}): string => {
  const vm = aPoolVm(1, pool, { machineType: NEW, hasVmi: fields !== null, ...of });
  const vmis = fields === null ? [] : [anOldVmi(vm, { revision: vm.revision, ...fields })];
  return transitionNeed(rulesOf(aTransition()), vm, snapshotOf([vm], { pool, vmis })).need;
};

describe('a pool that this transition has changed', () => {
  const behind = vmsOf(oldPool, 1);
  const halted = { kind: 'Failed' as const, by: 'drover', at: '2026-01-02T03:04:05Z' };

  test('rolls VMs that are behind, and is done with the others', () => {
    const pool = changed();
    const there = aPoolVm(2, pool, { machineType: NEW });
    expect(standOf(pool, [...behind, there])).toMatchObject({
      state: 'rolls',
      needs: [{ need: 'pool' }, { need: 'done' }],
    });
  });
  test('counts a VM as behind while its VMI comes from the template before', () => {
    const pool = changed();
    const vm = aPoolVm(1, pool, { machineType: NEW });
    const vmi = anOldVmi(vm, { machineType: OLD, revision: revisionOf(oldPool.spec.template) });
    const snapshot = snapshotOf([vm], { pool, vmis: [vmi] });
    expect(transitionNeed(rulesOf(aTransition()), vm, snapshot)).toMatchObject({ need: 'pool' });
  });
  test('has a VM in progress until its new VMI is ready, and its type is known', () => {
    expect([
      needOf(changed(), null),
      needOf(changed(), { machineType: null }),
      needOf(changed(), { ready: false }, { ready: false }),
    ]).toEqual(['pool', 'pool', 'pool']);
    expect([needOf(changed(), {}), needOf(changed(), null, { runStrategy: 'Halted' })]).toEqual(['done', 'done']);
    // The VM's state after the pool's rollout is not this transition's concern.
    expect(needOf(told({ completedAt: '2026-01-02T03:04:05Z' }), null)).toBe('done');
    expect(
      needOf(
        told({ halted, failures: [{ vm: 'web-1', message: 'not ready', at: '' }] }),
        { ready: false },
        { ready: false },
      ),
    ).toBe('failed');
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
      const pool = told({}, { updateStrategy });
      const old = [anOldVmi(behind[0]!)];
      const snapshot = (vmis: VmiView[]) => snapshotOf(behind, { pool, vmis });
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
  test('is skipped if a user has set it back', () => {
    const pool = aTypedPool(OLD, {}, recordOfOurs());
    expect(standOf(pool, vmsOf(pool))).toMatchObject({
      state: 'excluded',
      message: `the machine type of its pool shop/web was set to ${OLD} since`,
    });
  });
  test('ignores an old VM that has the new template, since a user changed it', () => {
    const pool = changed();
    expect(standOf(pool, [aPoolVm(1, pool)]).needs).toMatchObject([{ need: 'patch' }]);
  });
});

describe('a pool whose template is not old', () => {
  test('has VMs like any others if it leaves the type to KubeVirt', () => {
    const pool = aTypedPool(null);
    expect(standOf(pool, vmsOf(pool, 1))).toMatchObject({
      state: 'outOfScope',
      needs: [{ need: 'patch', setsLabel: true }],
    });
  });
  test('is left to roll VMs that are behind a new type that a user has set', () => {
    const pool = aTypedPool(NEW);
    expect(standOf(pool, vmsOf(oldPool, 1)).needs).toMatchObject([{ need: 'pool' }]);
    expect(standOf(aTypedPool(NEW, { updateStrategy: { unmanaged: {} } }), vmsOf(oldPool, 1)).needs).toMatchObject([
      { need: 'patch' },
    ]);
  });
});

describe('an undo', () => {
  const undo = aTransition({ scope: { undoes: OTHER } });
  test('restores the template that was changed, and follows until its VMs come from that', () => {
    const pool = aTypedPool(null, {}, recordOfOurs({ id: OTHER, from: OLD, to: '' }));
    const vms = vmsOf(pool, 1, { machineType: NEW });
    expect(standOf(pool, vms, undo, { results: [resultOf(vms[0]!, OLD)] })).toMatchObject({
      state: 'change',
      to: OLD,
      needs: [{ need: 'pool' }],
    });
    const back = aTypedPool(OLD, {}, recordOfOurs({ from: '', to: OLD }));
    expect(standOf(back, [...vms, aPoolVm(2, back)], undo).needs).toMatchObject([{ need: 'pool' }, { need: 'done' }]);
  });
  test('leaves a template that a user has changed since, and any other', () => {
    expect(standOf(aTypedPool('q35', {}, recordOfOurs({ id: OTHER, to: '' })), [], undo).state).toBe('excluded');
    expect(standOf(oldPool, vmsOf(oldPool), undo)).toMatchObject({
      state: 'outOfScope',
      needs: [{ need: 'nothing' }, { need: 'nothing' }],
    });
  });
});

test('the type in a template is found in its place', () => {
  expect([oldPool, aTypedPool(null), aTypedPool('')].map(templateTypeOf)).toEqual([OLD, null, null]);
});
