import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import { planDrain } from '../../../decisions/drain/plan.ts';
import type { VmiOf } from '../../../decisions/health/availability.ts';
import { planPower } from '../../../decisions/power/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVmi } from '../fixtures/fleets.ts';
import { DOWN, NOW, old, plan, taken } from '../fixtures/rollout-pools.ts';

interface Fleet {
  vms: VmView[];
  vmiOf: VmiOf;
  maxUnavailable: number;
}

const LEAVES = { evictionStrategy: 'External', evacuationNode: 'node-1', node: 'node-1', nodeDrained: true };

/** The default prefers VMs that are not ready by itself. */
const OLDEST = { proactive: { selectionPolicy: { basePolicy: 'Oldest' as const } } };

const anyFleet = fc
  .record({
    serve: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
    maxUnavailable: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ serve, maxUnavailable }): Fleet => ({
    vms: serve.map((serves, index) => old(index + 1, serves ? {} : DOWN)),
    vmiOf: (vm) => aVmi(vm, { ...LEAVES, ready: vm.ready }),
    maxUnavailable,
  }));

const poolOf = ({ vms, maxUnavailable }: Fleet) => aPool({ replicas: vms.length, maxUnavailable, drain: {} });

function restarted(fleet: Fleet): string[] {
  const { vms, vmiOf } = fleet;
  const pool = poolOf(fleet);
  const status = { replicas: vms.length, updateRevision: revisionOf(poolTemplate(pool.spec)) };
  const byKey = new Map(vms.map((vm) => [namespacedName(vm), vm]));
  const { admitted: take } = planPower({
    action: 'Restart',
    chosen: new Map([...byKey].map(([key, vm]) => [key, vmiOf(vm)!.uid])),
    snapshot: { vmOf: (key) => byKey.get(key), vmiOf, poolOf: () => ({ pool: { ...pool, status }, vms: () => vms }) },
    inProgress: new Set(),
    ended: new Set(),
    whyNot: () => null,
    whyExcluded: () => null,
    atOnce: vms.length,
    mayStart: true,
    now: NOW,
  });
  return take.map(({ vm }) => byKey.get(vm)!.name);
}

test.each<[string, (fleet: Fleet) => string[]]>([
  [
    'a rollout',
    ({ vms, vmiOf, maxUnavailable }) =>
      taken(
        plan({
          vms,
          vmis: Object.fromEntries(vms.map((vm) => [vm.name, vmiOf(vm)])),
          spec: { maxUnavailable, updateStrategy: OLDEST },
        }),
      ),
  ],
  [
    'a drain',
    (fleet) =>
      planDrain({ ...fleet, pool: poolOf(fleet), acting: [], busy: new Map(), refusals: [], now: NOW }).evacuate.map(
        ({ name }) => name,
      ),
  ],
  ['a restart', restarted],
])(
  '%s takes all VMs that serve nobody before one that serves, and of those as many as the budget has room for',
  (_of, takes) => {
    fc.assert(
      fc.property(anyFleet, (fleet) => {
        const serves = new Map(fleet.vms.map(({ name, ready }) => [name, ready]));
        const order = takes(fleet).map((name) => serves.get(name)!);
        const down = [...serves.values()].filter((isServing) => !isServing).length;
        const room = Math.min(Math.max(fleet.maxUnavailable - down, 0), serves.size - down);
        expect(order).toEqual([...Array<boolean>(down).fill(false), ...Array<boolean>(room).fill(true)]);
      }),
    );
  },
);
