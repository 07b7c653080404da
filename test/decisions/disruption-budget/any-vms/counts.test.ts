import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { POOL_LABEL } from '../../../../api/labels-and-annotations.ts';
import { countsOf, labelsMadeBy, type Counts } from '../../../../decisions/disruption-budget/any-vms/counts.ts';
import type { BudgetTally } from '../../../../decisions/disruption-budget/any-vms/tally.ts';
import type { Evacuation } from '../../../../decisions/views/evacuation.ts';
import type { MigrationInFlight } from '../../../../decisions/views/migration.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../../fixtures/fleets.ts';
import { aDb, budgetOf, FleetOf } from './fixtures.ts';

const inFlight = { name: 'by-anybody', phase: 'Running' } as unknown as MigrationInFlight;
const evacuating = { attempt: 1, state: 'Unfinished' } as Evacuation;

function counted(vm: Partial<VmView>, vmi: Partial<VmiView> | null = {}, areMigrationsApart = false) {
  const one = aDb('db-1', vm);
  const { expected, available, migrating } = countsOf(
    one,
    vmi === null ? undefined : aVmi(one, vmi),
    areMigrationsApart,
  );
  return `${expected}${available}${migrating}`;
}

describe('in a budget, expected, available and migrating', () => {
  test.for<[string, string, string]>([
    ['that is ready', counted({}), '110'],
    ['that is not ready', counted({ ready: false }), '100'],
    ['without a VMI that should run', counted({ hasVmi: false, ready: false }, null), '100'],
    ['in a crash loop', counted({ ready: false, state: 'CrashLoopBackOff' }), '100'],
    ['whose node does not answer', counted({}, { nodeLost: true }), '100'],
    ['that KubeVirt is to restart', counted({ changingState: true }), '100'],
    ['that its owner has stopped', counted({ runStrategy: 'Halted', hasVmi: false, ready: false }, null), '000'],
    ['that its owner has just stopped', counted({ runStrategy: 'Halted' }), '000'],
    ['that has run once to its end', counted({ runStrategy: 'Once' }, { phase: 'Succeeded' }), '000'],
    ['that is being deleted', counted({ deleting: true }), '000'],
    ['that leaves its pool', counted({ removing: true }), '000'],
    ['that stands by', counted({ role: 'Standby' }), '000'],
    ['that stands in for others', counted({ role: 'Surge' }), '010'],
    ['that anybody migrates', counted({}, { migration: inFlight }), '100'],
    ['that drover migrates', counted({}, { evacuation: evacuating }), '100'],
    [
      'that anybody migrates, with a limit of its own for migrations,',
      counted({}, { migration: inFlight }, true),
      '111',
    ],
    ['that drover migrates, with such a limit,', counted({}, { evacuation: evacuating }, true), '111'],
    [
      'that is not ready and migrates, with such a limit,',
      counted({ ready: false }, { evacuation: evacuating }, true),
      '101',
    ],
  ])('a VM %s counts as %s', ([, found, wanted]) => expect(found).toBe(wanted));
});

const labelled = { metadata: { labels: { app: 'db' } }, ...aPool().spec.template };
const member = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, { ownLabels: { app: 'db', [POOL_LABEL]: 'web' }, ...fields });

function totalOf(vms: VmView[], spec: Parameters<typeof aPool>[0], fields = {}, of = budgetOf({})): Counts {
  const pool = { ...aPool({ template: labelled, ...spec }, fields), kind: 'VirtualMachinePool' };
  return new FleetOf(vms, [pool]).tally(of).total;
}

describe('missing VMs of a pool', () => {
  test('are expected, if VMs of its template are selected and start by themselves', () => {
    expect(totalOf([member('web-1')], { replicas: 3 })).toEqual({ expected: 3, available: 1, migrating: 0 });
    expect(totalOf([member('web-1')], { replicas: 3, template: aPool().spec.template }).expected).toBe(1);
    const halted = { ...labelled, spec: { ...labelled.spec, runStrategy: 'Manual' as const } };
    expect(totalOf([member('web-1')], { replicas: 3, template: halted }).expected).toBe(1);
    expect(totalOf([member('web-1')], { replicas: 3 }, { deletionTimestamp: '2026-01-01T00:00:00Z' }).expected).toBe(1);
  });

  test('are those whose VMs leave, and not those for which extra VMs stand in', () => {
    const leaving = member('web-2', { deleting: true });
    const extra = member('web-4', { role: 'Surge' });
    const vms = [member('web-1'), leaving, extra];
    expect(totalOf(vms, { replicas: 3 })).toEqual({ expected: 3, available: 2, migrating: 0 });
    expect(totalOf([member('web-1'), member('web-2')], { replicas: 1 }).expected).toBe(2);
  });

  test('have the label of the pool, and those of a replica set have not', () => {
    const ofPool = budgetOf({ selector: { matchLabels: { [POOL_LABEL]: 'web' } } });
    expect(totalOf([], { replicas: 3 }, {}, ofPool).expected).toBe(3);
    expect(labelsMadeBy({ ...aPool({ template: labelled }), kind: 'VirtualMachineReplicaSet' })).toEqual({ app: 'db' });
  });
});

const change = fc.record({
  index: fc.nat(5),
  to: fc.option(
    fc.record({
      ready: fc.boolean(),
      deleting: fc.boolean(),
      role: fc.constantFrom<VmView['role']>(null, 'Standby', 'Surge'),
      runStrategy: fc.constantFrom('Always', 'Halted'),
      app: fc.constantFrom('db', 'web'),
      isMoved: fc.boolean(),
    }),
  ),
  replicas: fc.option(fc.nat(8)),
  reads: fc.option(fc.constantFrom('total', 'matched', 'missing', 'down', 'each')),
});

/** What a tally says, each as the first that it is asked. */
const SAID = {
  total: ({ total }: BudgetTally) => ({ ...total }),
  matched: ({ matched }: BudgetTally) => matched,
  missing: ({ missing }: BudgetTally) => missing,
  down: ({ down }: BudgetTally) => new Map(down),
  each: (tally: BudgetTally, keys: string[]) => keys.map((key) => tally.of(key)),
};

test('a tally counts as a new one would, whatever has changed in between', () =>
  fc.assert(
    fc.property(fc.array(change), fc.boolean(), (changes, isApart) => {
      const fleet = new FleetOf([0, 1, 2, 3, 4, 5].map((n) => (n % 2 === 0 ? aDb(`db-${n}`) : member(`web-${n}`))));
      const budget = budgetOf({ maxUnavailable: 1, ...(isApart && { maxMigrating: 1 }) });
      const pool = { ...aPool({ template: labelled }), kind: 'VirtualMachinePool' };
      fleet.owners.push(pool);
      const tally = fleet.tally(budget);
      const keys = [...fleet.known.keys()];
      for (const { index, to, replicas, reads } of changes) {
        const key = keys[index]!;
        const name = key.slice('shop/'.length);
        if (to === null) fleet.known.delete(key);
        else {
          const fields = { ...to, ownLabels: { app: to.app } };
          const vmi = to.isMoved ? { migration: inFlight } : {};
          fleet.put(index % 2 === 0 ? aDb(name, fields) : member(name, fields), vmi);
        }
        fleet.owners.splice(0);
        if (replicas !== null) fleet.owners.push({ ...pool, spec: { ...pool.spec, replicas } });
        tally.changed(key);
        tally.keeperChanged(pool);
        if (reads !== null) expect(SAID[reads](tally, keys)).toEqual(SAID[reads](fleet.tally(budget), keys));
      }
      for (const say of Object.values(SAID)) expect(say(tally, keys)).toEqual(say(fleet.tally(budget), keys));
    }),
  ));

test('a VM that changes costs a tally one look, however many VMs it counts', () => {
  const fleet = new FleetOf(Array.from({ length: 1_000 }, (_, n) => aDb(`db-${n}`)));
  const tally = fleet.tally(budgetOf({ maxUnavailable: 1 }));
  fleet.looks.length = 0;
  tally.changed('shop/db-7');
  expect([tally.total.available, tally.of('shop/db-7')?.available, fleet.looks]).toEqual([1_000, 1, ['shop/db-7']]);
});
