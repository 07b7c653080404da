import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RolloutPlan } from '../../../decisions/rollout/plan.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import type { ContentChange } from '../../../decisions/template/content.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import {
  aBatch,
  at,
  DOWN,
  failure,
  fresh,
  HALTED,
  held,
  NEW,
  NOW,
  old,
  plan,
  rolling,
  taken as takenOf,
  waits,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

const CHANGED_AT = NOW - 30_000;
const USER: ContentChange = { what: 'Secret user', at: CHANGED_AT };
const all = (count: number, make: (number: number) => VmView = fresh): VmView[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));
/** VMs of these names have older content than there is, unless their VMI is a new one. */
const changed =
  (...names: string[]): NonNullable<RolloutFields['changeFor']> =>
  (vm, vmi) =>
    names.includes(vm.name) && vmi.uid === `vmi-of-${vm.uid}` ? USER : null;
const complete = rolling({ completedAt: at(NOW - 50_000), failures: [failure('web-3', { at: at(NOW - 50_000) })] });
const settled: RolloutFields = { status: { currentRevision: NEW }, state: complete, spec: { maxUnavailable: 1 } };
const acts = ({ update }: RolloutPlan) => update?.batch.vms.map(({ name, act, vmi }) => ({ name, act, vmi }));

describe('VMs with older content', () => {
  test('restart, each VMI by UID, as a rollout that keeps nothing of the last one', () => {
    const vms = all(4);
    const planned = plan({ ...settled, vms, changeFor: changed('web-2') });
    expect(acts(planned)).toEqual([{ name: 'web-2', act: 'restart', vmi: `vmi-of-${vms[1]!.uid}` }]);
    expect(planned.update!.reason).toBe('restart web-2, since Secret user changed');
    expect(planned.state).toEqual({
      ...newRolloutState(NEW, at(NOW)),
      batches: 1,
      lastBatch: 1,
      changed: { what: 'Secret user', at: at(CHANGED_AT) },
    });
    expect(planned).toMatchObject({ phase: 'RollingOut', updated: 3, behind: 1 });
  });

  test('wait for the budget, and are left if they are stopped or opted out, or if the pool wants that', () => {
    const changeFor = changed('web-1', 'web-2', 'web-3', 'web-4');
    const vms = [fresh(1, HALTED), fresh(2, { optedOut: true }), fresh(3), fresh(4)];
    expect(takenOf(plan({ ...settled, vms, changeFor }))).toHaveLength(1);
    const down = plan({ ...settled, vms: [...vms, fresh(5, DOWN)], changeFor });
    expect(down.update).toBeNull();
    expect(waits(down).join()).toContain('maxUnavailable allows 1');
    const lax = plan({
      ...settled,
      vms,
      changeFor,
      spec: { updateStrategy: { proactive: { disruption: 'Live' } } },
    });
    expect(lax).toMatchObject({ update: null, phase: 'Idle' });
    expect(waits(lax).join()).toContain('web-2 … web-4: it has started before Secret user changed');
  });

  test('wait until the second of the change is over', () => {
    const change: ContentChange = { ...USER, at: NOW - 400 };
    const planned = plan({ ...settled, vms: all(2), changeFor: () => change });
    expect(planned).toMatchObject({ update: null, phase: 'RollingOut', requeueAt: NOW + 601 });
    expect(plan({ ...settled, vms: all(2), changeFor: () => change, now: NOW + 601 }).update).not.toBeNull();
  });

  test('get a new spec at the same time, which alone would not restart them', () => {
    const vms = [old(1), fresh(2)];
    const planned = plan({ vms, changeFor: changed('web-1'), spec: { maxUnavailable: '100%' } });
    expect(acts(planned)).toEqual([{ name: 'web-1', act: 'restart', vmi: undefined }]);
  });

  test('respect a pause by a user, and nothing of an aborted or failed rollout from before', () => {
    const paused = { by: 'anna', at: at(NOW) };
    const held = plan({ ...settled, state: { ...complete, paused }, vms: all(2), changeFor: changed('web-1') });
    expect(held).toMatchObject({ update: null, phase: 'Paused' });
    const aborted = rolling({
      halted: { kind: 'Aborted', by: 'anna', at: at(NOW - 60_000) },
      changed: { what: 'Secret other', at: at(NOW - 90_000) },
    });
    expect(acts(plan({ ...settled, state: aborted, vms: all(2), changeFor: changed('web-1') }))).toHaveLength(1);
    const ofTemplate = rolling({ halted: { kind: 'Failed', by: 'drover', at: at(NOW - 60_000) } });
    const stays = plan({ state: ofTemplate, vms: all(2), changeFor: changed('web-1') });
    expect(stays).toMatchObject({ update: null, phase: 'Failed' });
  });
});

describe('restarts that have failed', () => {
  const failed = rolling({
    startedAt: at(NOW - 120_000),
    changed: { what: 'Secret user', at: at(NOW - 120_000) },
    failures: [failure('web-1', { at: at(NOW - 60_000) })],
    halted: { kind: 'Failed', by: 'drover', at: at(NOW - 60_000) },
  });
  const vms = [fresh(1, DOWN), fresh(2), fresh(3)];

  test('continue once the content that the VM has read is corrected', () => {
    const planned = plan({ ...settled, state: failed, vms, changeFor: changed('web-1', 'web-2') });
    expect(planned.state).toMatchObject({ failures: [], changed: { at: at(CHANGED_AT) } });
    expect(takenOf(planned)).toEqual(['web-1']);
  });

  test('stay halted by a change of something that other VMs read', () => {
    const planned = plan({ ...settled, state: failed, vms, changeFor: changed('web-2') });
    expect(planned).toMatchObject({ update: null, phase: 'Failed' });
  });
});

test('a batch whose VMs have restarted with content that is old by now waits no longer', () => {
  const vms = all(2);
  const [one] = vms;
  const restarted = aBatch([held(one!, 'restart', { from: NEW, vmi: 'an earlier one' })]);
  expect(plan({ ...settled, vms, changeFor: () => USER, batches: [restarted] }).superseded).toEqual([1]);
  const restarting = aBatch([held(one!, 'restart', { from: NEW, vmi: `vmi-of-${one!.uid}` })]);
  expect(plan({ ...settled, vms, changeFor: () => USER, batches: [restarting] }).superseded).toEqual([]);
});

test('exactly the VMs that must restart are taken, never more than the budget allows', () => {
  const vm = fc.record({
    stale: fc.boolean(),
    fields: fc.constantFrom({}, {}, DOWN, HALTED, { optedOut: true }),
  });
  fc.assert(
    fc.property(fc.array(vm, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 4 }), (list, most) => {
      const vms = list.map(({ fields }, index) => fresh(index + 1, fields));
      const stale = vms.filter((_, index) => list[index]!.stale);
      const planned = plan({
        ...settled,
        vms,
        spec: { maxUnavailable: most },
        changeFor: changed(...stale.map(({ name }) => name)),
      });
      const taken = planned.update?.batch.vms ?? [];
      const due = stale.filter(({ hasVmi, optedOut }) => hasVmi && !optedOut).map(({ name }) => name);
      for (const { name, act } of taken) {
        expect(due).toContain(name);
        expect(act).toBe('restart');
      }
      const down = vms.filter((one) => !one.ready && one.runStrategy === 'Always');
      const taking = takenOf(planned).filter((name) => !down.some((one) => one.name === name)).length;
      expect(taking).toBeLessThanOrEqual(Math.max(0, most - down.length));
      // Those that are down cost nothing, and as many others go as there is room for.
      const [free, up] = [down, vms.filter(({ ready }) => ready)].map((some) =>
        some.filter(({ name }) => due.includes(name)),
      );
      const atOnce = free!.length + Math.min(up!.length, Math.max(0, most - down.length));
      expect(takenOf(planned)).toHaveLength(atOnce);
      expect(taken).toHaveLength(atOnce === 0 ? 0 : due.length);
      expect(planned.phase === 'Complete').toBe(due.length === 0);
    }),
  );
});
