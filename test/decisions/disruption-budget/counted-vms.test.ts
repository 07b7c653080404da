import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CountedVms } from '../../../decisions/disruption-budget/counted-vms.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

const state = fc.record({
  ready: fc.boolean(),
  deleting: fc.boolean(),
  role: fc.constantFrom<VmView['role']>(null, 'Standby'),
});
const change = fc.record({ index: fc.nat(7), to: fc.option(state), isRead: fc.boolean() });

/** A cluster whose VMs change one by one, and of which every second VM is counted. */
function aCluster(states: Parameters<typeof aVm>[1][]) {
  const vms = new Map(states.map((one, index) => [namespacedName(aVm(`web-${index}`)), aVm(`web-${index}`, one)]));
  const looks: string[] = [];
  const snapshot = {
    vmOf: (key: string) => {
      looks.push(key);
      return vms.get(key);
    },
    vmiOf: (vm: VmView) => aVmi(vm),
  };
  const keys = [...vms.keys()];
  return { vms, keys, looks, snapshot, counted: new Set(keys.filter((_, index) => index % 2 === 0)) };
}

test('counted VMs are out as the snapshot has them at each time, whatever has changed in between', () =>
  fc.assert(
    fc.property(fc.array(state, { minLength: 8, maxLength: 8 }), fc.array(change), (states, changes) => {
      const { vms, keys, snapshot, counted } = aCluster(states);
      const kept = new CountedVms(counted, snapshot);
      for (const { index, to, isRead } of changes) {
        const key = keys[index]!;
        if (to === null) vms.delete(key);
        else vms.set(key, aVm(`web-${index}`, to));
        kept.changed(key);
        if (isRead) expect(kept.out).toEqual(new CountedVms(counted, snapshot).out);
      }
      expect(kept.out).toEqual(new CountedVms(counted, snapshot).out);
    }),
  ));

test('a VM that changes costs one look, however many VMs are counted', () => {
  const { keys, looks, snapshot } = aCluster(Array.from({ length: 1_000 }, () => ({ ready: true })));
  const counted = new CountedVms(new Set(keys), snapshot);
  looks.length = 0;
  counted.changed(keys[7]!);
  expect([counted.out.size, counted.out.size, looks]).toEqual([0, 0, [keys[7]]]);
});
