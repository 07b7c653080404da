import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PoolSpec } from '../../../../api/pool/pool.ts';
import { CountedVms } from '../../../../decisions/disruption-budget/counted-vms.ts';
import { grantClaims } from '../../../../decisions/disruption-budget/grant-claims.ts';
import { RunBudget } from '../../../../decisions/disruption-budget/restart-budget.ts';
import { maxUnavailableOf, maxSurgeOf } from '../../../../decisions/disruption-budget/unavailability.ts';
import { isReady, type VmiOf } from '../../../../decisions/health/availability.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import { aPool, aVm, aVmi } from '../../fixtures/fleets.ts';

const NOW = 1_000_000;

interface Fleet {
  vms: VmView[];
  vmiOf: VmiOf;
  spec: Partial<PoolSpec>;
  replicas: number;
}

const readiness = fc.constantFrom('ready', 'down', 'just ready');

/** Replicas and extra VMs, of which some are down, and some have not been ready for `minReadySeconds`. */
const anyFleet: fc.Arbitrary<Fleet> = fc
  .record({
    regular: fc.array(readiness, { minLength: 1, maxLength: 8 }),
    extra: fc.array(readiness, { maxLength: 4 }),
    maxUnavailable: fc.constantFrom(0, 1, 2, '50%'),
  })
  .map(({ regular, extra, maxUnavailable }) => {
    const since = new Map<string, number>();
    const vmOf = (state: string, number: number, role: VmView['role']): VmView => {
      const vm = aVm(`web-${number}`, { role, ready: state !== 'down' });
      since.set(vm.name, state === 'ready' ? 0 : NOW - 500);
      return vm;
    };
    const vms = [
      ...regular.map((state, index) => vmOf(state, index + 1, null)),
      ...extra.map((state, index) => vmOf(state, regular.length + index + 1, 'Surge')),
    ];
    const rollout = { minReadySeconds: 1 };
    return {
      vms,
      vmiOf: (vm) => aVmi(vm, { readySince: since.get(vm.name)! }),
      spec: { replicas: regular.length, maxUnavailable, maxSurge: 4, rollout },
      replicas: regular.length,
    };
  });

/** How many VMs serve: extra ones once they have been ready for long enough. */
const serving = ({ vms, vmiOf }: Fleet, without: ReadonlySet<string>): number =>
  vms.filter(
    (vm) =>
      !without.has(vm.name) && isReady(vm, vmiOf(vm)) && (vm.role === null || vmiOf(vm)!.readySince! + 1_000 <= NOW),
  ).length;

const least = ({ spec, replicas }: Fleet): number => replicas - maxUnavailableOf(aPool(spec));

test('claims on VMs of any role leave at least replicas - maxUnavailable serving', () =>
  fc.assert(
    fc.property(anyFleet, fc.array(fc.nat(11), { maxLength: 12 }), (fleet, chosen) => {
      const asked = [...new Set(chosen)].flatMap((index) => fleet.vms[index] ?? []);
      const context = { pool: aPool(fleet.spec), vms: fleet.vms, vmiOf: fleet.vmiOf };
      const asks = asked.map((vm) => ({ vm, vmi: fleet.vmiOf(vm), by: 'test' }));
      const { answers } = grantClaims(context, [], asks, new Date(NOW).toISOString());
      const granted = new Set(asked.filter((_, index) => answers[index] === null).map(({ name }) => name));
      const before = serving(fleet, new Set());
      expect(serving(fleet, granted)).toBeGreaterThanOrEqual(Math.min(before, least(fleet)));
    }),
  ));

test('a run of restarts leaves as many serving, one VM after the other', () =>
  fc.assert(
    fc.property(anyFleet, fc.array(fc.nat(11), { maxLength: 12 }), (fleet, chosen) => {
      const { vms, vmiOf, spec } = fleet;
      const owner = { pool: aPool(spec), vms: () => vms };
      const snapshot = { vmOf: () => undefined, vmiOf, poolOf: () => owner };
      const counted = new CountedVms(new Set(), snapshot);
      const budget = new RunBudget({ keepsAvailable: true, counted, snapshot, inProgress: [], most: 99, now: NOW });
      const taken = new Set<string>();
      for (const vm of [...new Set(chosen)].flatMap((index) => vms[index] ?? [])) {
        if (budget.whyNot(vm) !== null) continue;
        budget.charge(vm);
        taken.add(vm.name);
      }
      expect(serving(fleet, taken)).toBeGreaterThanOrEqual(Math.min(serving(fleet, new Set()), least(fleet)));
    }),
  ));

test.each([
  [{ replicas: 4, maxSurge: '25%' }, 1],
  [{ replicas: 5, maxSurge: '25%' }, 2],
  [{ replicas: 1, maxSurge: '1%' }, 1],
  [{ replicas: 4, maxSurge: 3 }, 3],
  [{ replicas: 0, maxSurge: '50%' }, 0],
  [{ replicas: 4 }, 0],
])('a share of extra VMs is rounded up: %j', (spec, count) => {
  expect(maxSurgeOf(aPool(spec))).toBe(count);
});

test.each([
  [{ replicas: 4, maxUnavailable: 0, maxSurge: 1 }, 0],
  [{ replicas: 4, maxUnavailable: '0%', maxSurge: '10%' }, 0],
  [{ replicas: 3, maxUnavailable: '25%', maxSurge: 1 }, 0],
  // The API server refuses it, and may have stored it before it knew the rule.
  [{ replicas: 4, maxUnavailable: 0 }, 1],
])('none may go down only if others come up first: %j', (spec, count) => {
  expect(maxUnavailableOf(aPool(spec))).toBe(count);
});

test('a refusal says what to do if no VM may go down', () => {
  const vms = [aVm('web-1'), aVm('web-2')];
  const context = {
    pool: aPool({ replicas: 2, maxUnavailable: 0, maxSurge: 1 }),
    vms,
    vmiOf: (vm: VmView) => aVmi(vm),
  };
  const asks = [{ vm: vms[0]!, vmi: aVmi(vms[0]!), by: 'test' }];
  expect(grantClaims(context, [], asks, new Date(NOW).toISOString()).answers).toEqual([
    'pool shop/web lets no VM go down (maxUnavailable allows 0): `drover rollout restart pool web` makes an extra VM first',
  ]);
});
