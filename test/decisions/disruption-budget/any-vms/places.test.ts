import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BudgetClaim, BudgetSpec } from '../../../../api/budgets/budget.ts';
import { CAPS } from '../../../../api/lib/caps.ts';
import { desiredOf } from '../../../../decisions/disruption-budget/any-vms/allowed.ts';
import { countsOf } from '../../../../decisions/disruption-budget/any-vms/counts.ts';
import {
  BY_KUBEVIRT,
  grantPlaces,
  stateOfPlace,
  type PlaceRequest,
} from '../../../../decisions/disruption-budget/any-vms/places.ts';
import type { Evacuation } from '../../../../decisions/views/evacuation.ts';
import type { MigrationInFlight } from '../../../../decisions/views/migration.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aPool, aVmi } from '../../fixtures/fleets.ts';
import { aDb, budgetOf, FleetOf } from './fixtures.ts';

const AT = '2026-11-23T12:00:00.000Z';

const ask = (vm: VmView, fields: Partial<PlaceRequest> = {}): PlaceRequest => ({
  vm,
  vmi: aVmi(vm),
  by: 'power/one',
  reason: 'Restart',
  ...fields,
});

const claimOf = (vm: VmView, fields: Partial<BudgetClaim> = {}): BudgetClaim => ({
  vm: vm.name,
  namespace: vm.namespace,
  vmi: aVmi(vm).uid,
  by: 'power/other',
  reason: 'Restart',
  at: AT,
  ...fields,
});

const [one, two, three] = ['db-1', 'db-2', 'db-3'].map((name) => aDb(name)) as [VmView, VmView, VmView];

function messages(spec: Partial<BudgetSpec>, claims: BudgetClaim[], requests: PlaceRequest[], vms = [one, two, three]) {
  const budget = budgetOf(spec);
  const { answers } = grantPlaces(budget, new FleetOf(vms).tally(budget), claims, requests, AT);
  return answers.map((answer) => answer?.message ?? null);
}

const full = 'disruption budget shop/db has no room: 2 of 3 VMs are available and not claimed, and maxUnavailable is 1';

test('places are granted in the order of the requests, while there is room', () => {
  expect(messages({ maxUnavailable: 1 }, [], [ask(one), ask(two)])).toEqual([null, full]);
  expect(messages({ minAvailable: 1 }, [], [ask(one), ask(two), ask(three)])).toEqual([
    null,
    null,
    'disruption budget shop/db has no room: 1 of 3 VMs are available and not claimed, and minAvailable is 1',
  ]);
});

test('a VM that is claimed counts as down, and claims of others are not taken over while its VMI runs', () => {
  expect(messages({ maxUnavailable: 1 }, [claimOf(one)], [ask(two)])).toEqual([full]);
  expect(messages({ maxUnavailable: 3 }, [claimOf(one)], [ask(one)])).toEqual(['power/other is about to disrupt it']);
  for (const taken of [ask(one, { by: 'power/other' }), ask(one, { vmi: aVmi(one, { uid: 'next' }) })])
    expect(messages({ maxUnavailable: 1 }, [claimOf(one)], [taken])).toEqual([null]);
  expect(messages({ maxUnavailable: 1 }, [claimOf(one)], [ask(one, { vmi: aVmi(one, { ready: false }) })])).toEqual([
    null,
  ]);
});

test('VMs of one name in two namespaces count, and are claimed, apart', () => {
  const same = aDb('db-1', { namespace: 'bank' });
  const budget = budgetOf({ maxUnavailable: 2 }, { namespace: undefined as never });
  const fleet = new FleetOf([one, same, three]);
  const claims = [claimOf(one), claimOf(same)];
  expect(grantPlaces(budget, fleet.tally(budget), claims, [], AT)).toMatchObject({ claims, counts: { available: 1 } });
  expect(stateOfPlace(claims[1]!, fleet)).toBe('unused');
});

test('a VM that comes under the budget with the act, or has just left it, counts as one more that is down', () => {
  const other = aDb('other', { ownLabels: {} });
  const vms = [one, two, three, other];
  const fuller = full.replace('2 of 3', '3 of 4');
  expect(messages({ maxUnavailable: 1 }, [claimOf(other)], [ask(one)], vms)).toEqual([fuller]);
  expect(messages({ maxUnavailable: 1 }, [], [ask(other), ask(one)], vms)).toEqual([null, fuller]);
  expect(messages({ maxUnavailable: 0 }, [], [ask(other)], vms)[0]).toContain('3 of 4');
  // It stands in for none of those that must stay.
  expect(messages({ minAvailable: 3 }, [], [ask(other), ask(one)], vms)[1]).toContain('3 of 4');
});

test.each<[string, Partial<BudgetSpec>, Partial<PlaceRequest>]>([
  ['goes down', { maxUnavailable: 1 }, {}],
  ['migrates', { maxUnavailable: 0, maxMigrating: 1 }, { migration: 1 }],
  ['goes down in a domain', { topology: { key: 'zone', maxDomains: 1 } }, {}],
])('room that others have waited for is not taken before them by what %s', (_what, spec, fields) => {
  const waiting = [{ by: 'power/first', reason: 'Restart', vms: 1, since: AT, seenAt: AT } as const];
  const grant = (by: string, more: Partial<BudgetSpec> = {}, claims: BudgetClaim[] = []) => {
    const budget = { ...budgetOf({ ...spec, ...more }), status: { waiting } };
    const tally = new FleetOf([one, two, three]).tally(budget);
    return grantPlaces(budget, tally, claims, [ask(one, { ...fields, by })], AT).answers[0]?.message ?? null;
  };
  expect(grant('power/first')).toBe(null);
  expect(grant('power/one')).toBe('disruption budget shop/db has room that another waited for before');
  if (fields.migration === undefined) expect(grant('power/one', {}, [claimOf(one, { by: 'power/one' })])).toBe(null);
  const { topology, maxMigrating } = spec;
  if (topology === undefined)
    expect(grant('power/one', maxMigrating === undefined ? { maxUnavailable: 2 } : { maxMigrating: 2 })).toBe(null);
});

test('a place is no permission once other VMs have failed', () => {
  const failed = aDb('db-2', { ready: false });
  const own = ask(one, { by: 'power/other' });
  expect(messages({ maxUnavailable: 1 }, [claimOf(one)], [own], [one, failed, three])[0]).toContain('1 of 3');
  expect(messages({ maxUnavailable: 2 }, [claimOf(one)], [own], [one, failed, three])).toEqual([null]);
});

test.each<Partial<VmView>>([{ ready: false }, { role: 'Standby' }, { deleting: true }, { runStrategy: 'Halted' }])(
  'a VM that serves nobody, or soon will not, waits for no room and no window: %j',
  (fields) => {
    const vm = aDb('db-2', fields);
    const closed = { windows: [{ cron: '0 3 * * *', duration: '1h' }], outside: 'Deny' as const };
    for (const spec of [{ maxUnavailable: 0 }, closed])
      expect(messages(spec, [], [ask(vm)], [one, vm, three])).toEqual([null]);
  },
);

test('nothing begins outside of the windows of a budget that denies it, and the refusal says when they open', () => {
  const budget = budgetOf({ windows: [{ cron: '0 3 * * *', duration: '1h' }], outside: 'Deny' });
  const grant = (at: string) => grantPlaces(budget, new FleetOf([one]).tally(budget), [], [ask(one)], at).answers[0];
  const message = 'disruption budget shop/db: the next window opens at 2026-11-24T03:00:00.000Z';
  expect(grant(AT)).toEqual({ budget: 'budget-db', message, opensAt: Date.parse('2026-11-24T03:00:00Z') });
  expect(grant('2026-11-23T03:30:00.000Z')).toBe(null);
  const free = { maxUnavailable: 0, windows: budget.spec.windows!, outside: 'Allow' as const };
  expect(messages(free, [], [ask(one)])).toEqual([null]);
});

test('a disruption past budgets has no limit and no window, but takes a place that others see', () => {
  const past = ask(one, { pastBudgets: true });
  expect(messages({ maxUnavailable: 0 }, [], [past, ask(two)])).toEqual([null, expect.stringContaining('2 of 3')]);
  expect(messages({ maxMigrating: 0 }, [], [{ ...past, migration: 1 }])).toEqual([null]);
  const closed = { windows: [{ cron: '0 3 * * *', duration: '1h' }], outside: 'Deny' as const };
  expect(messages(closed, [], [past])).toEqual([null]);
  expect(messages({ maxUnavailable: 3 }, [claimOf(one)], [past])).toEqual(['power/other is about to disrupt it']);
  const budget = budgetOf({ maxUnavailable: 0 });
  const { claims } = grantPlaces(budget, new FleetOf([one]).tally(budget), [], [past], AT);
  expect(claims).toEqual([expect.objectContaining({ vm: 'db-1', reason: 'Restart', pastBudgets: true })]);
  const others = Array.from({ length: CAPS.claims }, (_, index) => claimOf(aDb(`other-${index}`)));
  expect(messages({ maxUnavailable: 0 }, others, [past])[0]).toContain('are being disrupted already');
  others[0] = claimOf(one, { by: past.by });
  expect(messages({ maxUnavailable: 0 }, others, [past])).toEqual([null]);
});

test('a VM that was asked for counts as the caller has seen it', () => {
  const failed = aDb('db-2', { ready: false });
  expect(messages({ maxUnavailable: 1 }, [], [ask(one), ask(failed)], [one, two, three])).toEqual([full, null]);
  expect(messages({ maxUnavailable: 1 }, [], [ask(one), ask(two)], [one, failed, three])).toEqual([null, full]);
});

test('migrations have their own limit, if the budget gives one, and else cost a place like any other act', () => {
  const [a, b] = [ask(one, { migration: 1 }), ask(two, { migration: 1 })];
  expect(messages({ maxUnavailable: 0, maxMigrating: 1 }, [], [a, b])).toEqual([
    null,
    'disruption budget shop/db has no room: 1 VM migrates, and maxMigrating is 1',
  ]);
  expect(messages({ maxUnavailable: 1 }, [], [a, ask(two)])).toEqual([null, full]);
  const apart = { maxUnavailable: 1, maxMigrating: 1 };
  const begun = grantPlaces(budgetOf(apart), new FleetOf([one, two]).tally(budgetOf(apart)), [], [a], AT).claims;
  expect(messages(apart, begun, [a, ask(two)])).toEqual([null, null]);
  const waiting = [{ by: 'power/first', reason: 'Migrate', vms: 1, since: AT, seenAt: AT } as const];
  const others = { ...budgetOf({ maxMigrating: 1 }), status: { waiting } };
  expect(grantPlaces(others, new FleetOf([one]).tally(others), [], [ask(one)], AT).answers).toEqual([null]);
});

test('what is cluster-wide is not named to all who may read a status', () => {
  const budget = budgetOf({ maxUnavailable: 0 });
  const { namespace: _own, ...metadata } = budget.metadata;
  const { answers } = grantPlaces({ ...budget, metadata }, new FleetOf([one]).tally(budget), [], [ask(one)], AT);
  expect(answers[0]!.message).not.toContain('db');
});

interface Given {
  state: 'up' | 'down' | 'stopped' | 'extra' | 'standby' | 'migrating';
  isClaimed: boolean;
  asks: 'nothing' | 'restart' | 'migration';
}

const given = fc.record<Given>({
  state: fc.constantFrom('up', 'down', 'stopped', 'extra', 'standby', 'migrating'),
  isClaimed: fc.boolean(),
  asks: fc.constantFrom('nothing', 'restart', 'migration'),
});
const amount = fc.oneof(
  fc.nat(6),
  fc.nat(100).map((percent) => `${percent}%`),
);
const limits = fc
  .record({ which: fc.constantFrom('maxUnavailable', 'minAvailable'), amount, maxMigrating: fc.option(fc.nat(3)) })
  .map(({ which, amount: value, maxMigrating }) => ({
    [which]: value,
    ...(maxMigrating !== null && { maxMigrating }),
  }));

const FIELDS: Record<Given['state'], Partial<VmView>> = {
  up: {},
  migrating: {},
  down: { ready: false },
  stopped: { runStrategy: 'Halted', hasVmi: false, ready: false },
  extra: { role: 'Surge' },
  standby: { role: 'Standby' },
};

test('whatever is granted, no more VMs go down than the budget allows, and no more migrate', () =>
  fc.assert(
    fc.property(fc.array(given, { maxLength: 8 }), limits, (all, spec: Partial<BudgetSpec>) => {
      const fleet = new FleetOf();
      const migration = { attempt: 1, state: 'Unfinished' } as Evacuation;
      const vms = all.map(({ state }, n) => aDb(`db-${n}`, FIELDS[state]));
      vms.forEach((vm, n) => fleet.put(vm, all[n]!.state === 'migrating' ? { evacuation: migration } : undefined));
      const budget = budgetOf(spec);
      const active = vms.filter((_, n) => all[n]!.isClaimed).map((vm) => claimOf(vm));
      const requests = vms.flatMap((vm, n): PlaceRequest[] => {
        const vmi: VmiView | undefined = fleet.vmiOf(vm);
        const by = 'power/other';
        if (all[n]!.asks === 'nothing') return [];
        return [ask(vm, { vmi, by, ...(all[n]!.asks === 'migration' && { migration: 1 }) })];
      });
      const { answers, counts } = grantPlaces(budget, fleet.tally(budget), active, requests, AT);
      // By another count: which VMs will still serve.
      const isApart = spec.maxMigrating !== undefined;
      const granted = requests.filter((_, n) => answers[n] === null);
      const goes = new Set([
        ...active.map(({ vm }) => vm),
        ...granted.filter((request) => !isApart || request.migration === undefined).map(({ vm }) => vm.name),
      ]);
      const serving = vms.filter(
        (vm, n) => ['up', 'extra', ...(isApart ? ['migrating'] : [])].includes(all[n]!.state) && !goes.has(vm.name),
      ).length;
      const wanted = all.filter(({ state }) => ['up', 'down', 'migrating'].includes(state)).length;
      expect(counts).toMatchObject({ expected: wanted, available: serving });
      const costly = granted.filter(
        ({ vm, vmi, migration: is }) => countsOf(vm, vmi, isApart).available > 0 && (!isApart || is === undefined),
      );
      if (costly.length > 0) expect(serving).toBeGreaterThanOrEqual(desiredOf(budget.spec, wanted)!);
      const migrates = granted.filter(({ migration: is }) => isApart && is !== undefined);
      const moving = vms.filter(
        (vm, n) => all[n]!.state === 'migrating' || migrates.some((request) => request.vm === vm),
      );
      if (migrates.some(({ vm }) => all[vms.indexOf(vm)]!.state !== 'migrating'))
        expect(moving.length).toBeLessThanOrEqual(spec.maxMigrating!);
    }),
    { numRuns: 2_000 },
  ));

function stateOf(vm: VmView | undefined, vmi: Partial<VmiView> | null = {}, fields: Partial<BudgetClaim> = {}) {
  const fleet = new FleetOf();
  if (vm !== undefined) fleet.put(vm, vmi);
  return stateOfPlace(claimOf(one, fields), fleet);
}
const migrating = (attempt: number, state: Evacuation['state']) => ({ evacuation: { attempt, state } as Evacuation });

describe('a claim', () => {
  test('stands while its VM shows nothing of it', () => {
    expect(stateOf(one)).toBe('unused');
    expect(stateOf(aDb('db-1', { changingState: true }))).toBe('used');
    expect(stateOf(one, migrating(1, 'Succeeded'), { migration: 2 })).toBe('unused');
    expect(stateOf(one, migrating(2, 'Unfinished'), { migration: 2 })).toBe('used');
    expect(stateOf(one, {}, { migration: BY_KUBEVIRT })).toBe('unused');
    expect(stateOf(one, { migratedAt: Date.parse(AT) - 1_000 }, { migration: BY_KUBEVIRT })).toBe('unused');
  });

  test('ends once its VM counts by itself', () => {
    expect(stateOf(undefined)).toBe(null);
    expect(stateOf(aDb('db-1', { deleting: true }))).toBe(null);
    expect(stateOf(aDb('db-1', { role: 'Standby' }))).toBe(null);
    expect(stateOf(aDb('db-1', { uid: 'another' }))).toBe(null);
    expect(stateOf(aDb('db-1', { ready: false }), { deleting: true })).toBe(null);
    expect(stateOf(aDb('db-1', { ready: false, hasVmi: false, changingState: true }), null)).toBe(null);
    expect(stateOf(aDb('db-1', { runStrategy: 'Halted', hasVmi: false, ready: false }), null)).toBe(null);
    expect(stateOf(one, { uid: 'next' })).toBe(null);
    expect(stateOf(one, migrating(2, 'Succeeded'), { migration: 2 })).toBe(null);
    const inFlight = { migration: { name: 'by-kubevirt', phase: 'Running' } as unknown as MigrationInFlight };
    expect(stateOf(one, inFlight, { migration: BY_KUBEVIRT })).toBe(null);
    // In whole seconds, a migration that ends later may seem to end before.
    expect(stateOf(one, { migratedAt: Date.parse(AT) - 999 }, { migration: BY_KUBEVIRT })).toBe(null);
  });
});

const zoned = (vms: VmView[], claims: BudgetClaim[], requests: PlaceRequest[], spec: Partial<BudgetSpec> = {}) => {
  const fleet = new FleetOf(vms);
  for (const zone of ['a', 'b', 'c']) fleet.nodes.set(`node-${zone}`, { zone });
  fleet.nodes.set('node-0', {});
  const budget = budgetOf({ topology: { key: 'zone', maxDomains: 1 }, ...spec });
  return grantPlaces(budget, fleet.tally(budget), claims, requests, AT);
};
const on = (vm: VmView, node: string) => ask(vm, { vmi: aVmi(vm, { node }) });
const granted = (...given: Parameters<typeof zoned>): boolean[] => zoned(...given).answers.map((one) => one === null);

describe('with a topology', () => {
  test('VMs of one domain may go down together, and no others', () => {
    const asked = [on(one, 'node-a'), on(two, 'node-b'), on(three, 'node-a')];
    expect(granted([one, two, three], [], asked)).toEqual([true, false, true]);
    expect(zoned([one, two, three], [], asked).claims.map(({ vm, domain }) => [vm, domain])).toEqual([
      ['db-1', 'a'],
      ['db-3', 'a'],
    ]);
    expect(granted([one, two, three], [], asked, { topology: { key: 'zone', maxDomains: 2 } })).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('a claim tells where a VM that is down was', () => {
    const gone = aDb('db-1', { ready: false, hasVmi: false });
    const claim = claimOf(one, { domain: 'a' });
    expect(granted([gone, two, three], [claim], [on(two, 'node-a'), on(three, 'node-b')])).toEqual([true, false]);
  });

  test('a VM that has moved is claimed anew where it serves, and one that is down where it was', () => {
    const claim = claimOf(one, { domain: 'a' });
    const again = (vm: VmView, request: PlaceRequest): (string | undefined)[] =>
      zoned([vm, two], [claim], [{ ...request, by: claim.by }]).claims.map(({ domain }) => domain);
    expect(again(one, on(one, 'node-b'))).toEqual(['b']);
    const down = aDb('db-1', { ready: false });
    expect(again(down, ask(down, { vmi: aVmi(down, { node: 'node-b', ready: false }) }))).toEqual(['a']);
  });

  test('a VM of which nobody knows where it was counts as a domain of its own', () => {
    const gone = aDb('db-1', { ready: false, hasVmi: false });
    expect(granted([gone, two], [], [on(two, 'node-a')])).toEqual([false]);
    const fixed = aDb('db-1', { ready: false, hasVmi: false, nodeSelector: { zone: 'a' } });
    expect(granted([fixed, two], [], [on(two, 'node-a')])).toEqual([true]);
    const stopped = aDb('db-1', { runStrategy: 'Halted', ready: false, hasVmi: false });
    expect(granted([stopped, two], [], [on(two, 'node-a')])).toEqual([true]);
    const another = aDb('db-2', { ready: false, hasVmi: false });
    const topology = { key: 'zone', maxDomains: 2 };
    expect(granted([gone, another, three], [], [on(three, 'node-a')], { topology })).toEqual([false]);
    expect(granted([one, two], [claimOf(one, { domain: 'a' })], [on(two, 'node-of-no-one')])).toEqual([false]);
  });

  test('a VM that is missing from a pool counts as a domain of its own, unless a claim tells where it was', () => {
    const fleet = new FleetOf([one]);
    const template = { metadata: { labels: { app: 'db' } }, ...aPool().spec.template };
    fleet.owners.push({ ...aPool({ replicas: 2, template }), kind: 'VirtualMachinePool' });
    fleet.nodes.set('node-a', { zone: 'a' });
    const budget = budgetOf({ topology: { key: 'zone', maxDomains: 1 } });
    const asked = (claims: BudgetClaim[]) => {
      const { answers, counts } = grantPlaces(budget, fleet.tally(budget), claims, [on(one, 'node-a')], AT);
      expect(counts.expected).toBe(3);
      return answers[0]?.message ?? null;
    };
    const [lost, other] = [aDb('web-1'), aDb('web-2')];
    for (const claims of [[], [claimOf(one, { domain: 'a', by: 'power/one' })]])
      expect(asked(claims)).toContain('in these domains: 2 that are not known');
    expect(asked([claimOf(lost, { domain: 'b' })])).toContain('in these domains: b and 1 that are not known;');
    expect(asked([claimOf(lost, { domain: 'a' }), claimOf(other, { domain: 'a' })])).toBe(null);
  });

  test('nodes without the label are one domain', () => {
    const asked = [on(one, 'node-0'), on(two, 'node-0'), on(three, 'node-a')];
    const why = expect.stringContaining('in these domains: nodes without zone;') as string;
    expect(zoned([one, two, three], [], asked).answers.map((one) => one?.message ?? null)).toEqual([null, null, why]);
  });

  test('a VM without service, and a migration with a limit of its own, wait for no domain', () => {
    const failed = aDb('db-2', { ready: false });
    expect(granted([one, failed], [claimOf(one, { domain: 'a' })], [on(failed, 'node-b')])).toEqual([true]);
    const migration = { ...on(two, 'node-b'), migration: 1 };
    const asked = [on(one, 'node-a'), migration, on(three, 'node-a')];
    expect(granted([one, two, three], [], asked, { maxMigrating: 1 })).toEqual([true, true, true]);
    const begun = zoned([one, two], [], [migration], { maxMigrating: 1 }).claims;
    expect(granted([one, two], begun, [on(one, 'node-a')], { maxMigrating: 1 })).toEqual([true]);
    expect(granted([one, two], [], [on(one, 'node-a'), migration])).toEqual([true, false]);
  });
});
