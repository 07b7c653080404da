import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { maxUnavailableOf, unavailability } from '../../../decisions/disruption-budget/unavailability.ts';
import { drainingCondition } from '../../../decisions/drain/condition.ts';
import { departureOf } from '../../../decisions/drain/departure.ts';
import { planDrain, type DrainInput, type DrainPlan } from '../../../decisions/drain/plan.ts';
import { isDown } from '../../../decisions/health/availability.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { Evacuation } from '../../../decisions/views/evacuation.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const EVICTED = { evictionStrategy: 'External', evacuationNode: 'node-1', node: 'node-1', nodeDrained: true };
const UNDERWAY: Evacuation = {
  attempt: 1,
  state: 'Unfinished',
  ended: 0,
  failures: 0,
  since: NOW,
  endedAt: null,
  begunAt: null,
  whyFailed: null,
};

interface Given extends Partial<Omit<DrainInput, 'pool' | 'vms' | 'vmiOf'>> {
  spec?: Partial<PoolSpec>;
  vms?: VmView[];
  /** By name; the others are on a node that is drained. */
  vmis?: Record<string, Partial<VmiView>>;
}

const six = ['web-1', 'web-2', 'web-3', 'web-4', 'web-5', 'web-6'].map((name) => aVm(name));

function inputOf({ spec, vms = six, vmis = {}, ...fields }: Given = {}): DrainInput {
  return {
    pool: aPool({ replicas: vms.length, maxUnavailable: 2, drain: {}, ...spec }),
    vms,
    vmiOf: (vm) => (vm.hasVmi ? aVmi(vm, vmis[vm.name] ?? EVICTED) : undefined),
    acting: [],
    busy: new Map(),
    refusals: [],
    now: NOW,
    ...fields,
  };
}

const plan = (given?: Given): DrainPlan => planDrain(inputOf(given));
const begun = ({ evacuate }: DrainPlan): string[] => evacuate.map(({ name }) => name);
const states = ({ statuses }: DrainPlan): Record<string, string> =>
  Object.fromEntries(statuses.map(({ vm, state }) => [vm, state]));

const condition = (given: Given) => drainingCondition(plan(given).statuses)[0];

test('a VM that a disruption budget has wait says for which, and is looked at again', () => {
  const asked: unknown[] = [];
  const held = (given: Given = {}): DrainPlan =>
    plan({
      whyHeld: (vm, ...why) => {
        asked.push([vm.name, ...why]);
        return vm.name === 'web-1' ? { budget: 'uid', message: 'budget shop/db has no room' } : null;
      },
      ...given,
    });
  expect(begun(held())).toEqual(['web-2', 'web-3']);
  expect(held().statuses).toContainEqual({
    vm: 'web-1',
    node: 'node-1',
    state: 'Budget',
    message: 'waits: budget shop/db has no room',
  });
  expect(held().requeueAt).toBe(NOW + 5_000);
  expect(asked[0]).toEqual(['web-1', 'migrate', 'Drain']);
  asked.length = 0;
  held({ spec: { drain: { method: 'Restart' } }, vmis: { 'web-2': { ...EVICTED, ready: false } } });
  expect(asked[0]).toEqual(['web-1', 'restart', 'Drain']);
});

test('a VM without service asks no disruption budget', () => {
  const vms = [aVm('web-1', { ready: false })];
  const vmis = { 'web-1': { ...EVICTED, ready: false } };
  expect(begun(plan({ vms, vmis, whyHeld: () => ({ budget: 'uid', message: 'no room' }) }))).toEqual(['web-1']);
});

const refusedMove = (vm: string, uid: string) => ({ vm, uid, message: 'no', since: NOW, times: 1, notBefore: NOW });
const refusedMoves = (count: number) => Array.from({ length: count }, (_, n) => refusedMove(`other-${n}`, `uid-${n}`));

test('no more VMs are tried than can be remembered if they are refused', () => {
  const spec = { maxUnavailable: 6 };
  const known = refusedMove('web-6', 'vmi-of-uid-of-web-6');
  expect(begun(plan({ spec, refusals: [...refusedMoves(997), known] }))).toEqual(['web-6', 'web-1', 'web-2']);
  expect(begun(plan({ spec, refusals: [...refusedMoves(997), known], acting: ['other-1', 'other-2'] }))).toEqual([
    'web-6',
  ]);
  expect(plan({ spec, refusals: refusedMoves(1_000) }).statuses[0]).toMatchObject({
    state: 'Waiting',
    message: 'waits: 1000 others could not be moved',
  });
});

test('the status of a VM whose move was refused stays the same while the next attempt begins and runs', () => {
  const web1 = { vm: 'web-1', uid: 'vmi-of-uid-of-web-1', since: NOW, times: 2 };
  const refusals = [{ ...web1, message: 'forbidden', notBefore: NOW + 10_000 }];
  const says = (given: Given) => plan({ vms: [six[0]!], refusals, ...given }).statuses;
  const waiting = says({});
  expect(waiting).toMatchObject([{ state: 'Waiting', message: expect.stringContaining('forbidden') }]);
  const later = NOW + 10_000;
  expect(begun(plan({ refusals, now: later }))).toContain('web-1');
  expect(says({ now: later })).toEqual(waiting);
  expect(says({ now: later, acting: ['web-1'] })).toEqual(waiting);
  expect(says({ refusals: [], acting: ['web-1'] })).toMatchObject([{ state: 'Evacuating' }]);
});

describe('VMs on a node that is drained', () => {
  test('leave beside one that no other node takes, and that holds no place in the budget', () => {
    const pinned = { ...EVICTED, migratable: false, whyNoOtherNode: 'no other node has zone=a' };
    const planned = plan({ spec: { maxUnavailable: 1 }, vmis: { 'web-1': pinned } });
    expect(begun(planned)).toEqual(['web-2']);
    expect(planned.statuses).toContainEqual({
      vm: 'web-1',
      node: 'node-1',
      state: 'Stuck',
      message: 'waits: no other node has zone=a',
    });
  });

  test('are stuck if their pool lets none go down', () => {
    const planned = plan({ spec: { maxUnavailable: 0, maxSurge: 1 }, vms: [six[0]!] });
    expect(begun(planned)).toEqual([]);
    expect(planned.statuses).toMatchObject([{ state: 'Stuck', message: expect.stringContaining('rollout restart') }]);
  });

  test('leave within the budget, in the order of their numbers', () => {
    const planned = plan();
    expect(begun(planned)).toEqual(['web-1', 'web-2']);
    expect(planned.evacuate[0]).toMatchObject({ act: 'migrate', node: 'node-1', uid: 'vmi-of-uid-of-web-1' });
    expect(states(planned)).toMatchObject({ 'web-1': 'Evacuating', 'web-3': 'Budget', 'web-6': 'Budget' });
  });

  test('stay in a pool that does not ask for drains, or that is deleted', () => {
    const { pool, ...input } = inputOf();
    const { drain: _drain, ...spec } = pool.spec;
    expect(planDrain({ ...input, pool: { ...pool, spec } }).statuses).toEqual([]);
    const deleted = aPool({ drain: {} }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(planDrain({ ...input, pool: deleted }).evacuate).toEqual([]);
  });

  test('wait for VMs that are down elsewhere, that move, and that have just begun to move', () => {
    const down = [aVm('web-1', { ready: false }), ...six.slice(1)];
    expect(begun(plan({ vms: down, vmis: { 'web-1': {} } }))).toEqual(['web-2']);
    expect(begun(plan({ vmis: { 'web-1': { ...EVICTED, evacuation: UNDERWAY } } }))).toEqual(['web-2']);
    expect(begun(plan({ acting: ['web-5'] }))).toEqual(['web-1']);
  });

  test('come first if they are down, and need no place in the budget', () => {
    const vms = [...six.slice(0, 4), aVm('web-5', { ready: false }), aVm('web-6', { ready: false })];
    const planned = plan({ vms });
    expect(begun(planned)).toEqual(['web-5', 'web-6']);
    expect(planned.evacuate.map(({ act }) => act)).toEqual(['restart', 'restart']);
    expect(begun(plan({ vms, spec: { maxUnavailable: 3 } }))).toEqual(['web-5', 'web-6', 'web-1']);
  });

  test('begin inside a window only, unless they are down or have begun', () => {
    const drain = { windows: [{ cron: '0 22 * * *', duration: '1h' }] };
    const vms = [aVm('web-1', { ready: false }), ...six.slice(1)];
    const failed: Evacuation = {
      ...UNDERWAY,
      state: 'Failed',
      ended: 1,
      failures: 1,
      since: NOW - 60_000,
      endedAt: NOW - 30_000,
    };
    const planned = plan({ vms, spec: { drain }, vmis: { 'web-2': { ...EVICTED, evacuation: failed } } });
    expect(begun(planned)).toEqual(['web-1', 'web-2']);
    expect(states(planned)).toMatchObject({ 'web-3': 'Window' });
    expect(planned.requeueAt).toBe(Date.parse('2026-11-23T22:00:00Z'));
    expect(begun(plan({ vms, spec: { drain }, now: Date.parse('2026-11-23T22:10:00Z') }))).toEqual(['web-1', 'web-2']);
  });

  test('come before VMs that the descheduler wants to move', () => {
    const wish = { ...EVICTED, nodeDrained: false, wishedBy: 'Descheduler' } as const;
    const planned = plan({ vmis: { 'web-1': wish, 'web-2': wish, 'web-3': { ...EVICTED, nodeDrained: false } } });
    expect(begun(planned)).toEqual(['web-4', 'web-5']);
    expect(states(planned)).toMatchObject({ 'web-1': 'Budget', 'web-2': 'Budget', 'web-3': 'Waiting' });
  });

  test('wait for other work on them', () => {
    const planned = plan({ busy: new Map([['web-1', 'an update of it is in progress']]) });
    expect(begun(planned)).toEqual(['web-2', 'web-3']);
    expect(planned.statuses).toContainEqual({
      vm: 'web-1',
      node: 'node-1',
      state: 'Waiting',
      message: 'waits: an update of it is in progress',
    });
  });

  test('are reported in a condition, first what needs a user', () => {
    const vms = [aVm('web-1', { optedOut: true }), ...six.slice(1)];
    expect(condition({})).toMatchObject({
      type: 'Draining',
      status: 'True',
      reason: 'Evacuating',
      message:
        '6 VMs are to leave node-1; ' +
        'web-3 … web-6: waits: 2 VMs are unavailable or being moved, and maxUnavailable allows 2; ' +
        'web-1, web-2: is being migrated',
    });
    expect(condition({ vms })).toMatchObject({ reason: 'Stuck' });
    expect(condition({ vmis: Object.fromEntries(six.map(({ name }) => [name, {}])) })).toBeUndefined();
  });
});

const evicted = (vm: VmView): VmiView => aVmi(vm, EVICTED);

test('begin before an update can take their place in a plan of the pool', () => {
  const template = { spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { cores: 2 } } } } } };
  const pool = aPool({ replicas: 6, maxUnavailable: 2, drain: {}, template });
  const { steps, draining, status } = planPool({
    ...quiet,
    pool,
    vms: six,
    vmiOf: evicted,
    burst: 100,
  });
  expect(steps.map(({ kind }) => kind)).toEqual(['evacuate']);
  expect(draining).toContain('6 VMs are to leave node-1');
  expect(status?.conditions?.map(({ type }) => type)).toContain('Draining');
});

const anyEvacuation: fc.Arbitrary<Evacuation | null> = fc.option(
  fc.record({
    attempt: fc.integer({ min: 1, max: 9 }),
    state: fc.constantFrom('Unfinished', 'Succeeded', 'Failed'),
    ended: fc.nat(4),
    failures: fc.nat(4),
    since: fc.option(fc.integer({ min: NOW - 3_600_000, max: NOW })),
    begunAt: fc.constant(NOW - 20_000),
    endedAt: fc.constant(NOW - 15_000),
    whyFailed: fc.constantFrom(null, 'no node'),
  }),
);
const anyMember = (index: number) =>
  fc.record({
    vm: fc
      .record({
        ready: fc.boolean(),
        optedOut: fc.boolean(),
        deleting: fc.boolean(),
        snapshotting: fc.boolean(),
        changingState: fc.boolean(),
        runStrategy: fc.constantFrom('Always', 'Manual', 'Halted', 'RerunOnFailure'),
      })
      .map((fields) => aVm(`web-${index}`, fields)),
    vmi: fc.record({
      ready: fc.boolean(),
      paused: fc.boolean(),
      migration: fc.constantFrom(null, { name: 'm', phase: 'Running', createdAt: 0 }),
      migratable: fc.boolean(),
      evictionStrategy: fc.constantFrom('External', 'LiveMigrate', null),
      evacuationNode: fc.constantFrom('node-1', 'node-2', null),
      nodeDrained: fc.oneof({ arbitrary: fc.constant(true), weight: 2 }, { arbitrary: fc.constant(false), weight: 1 }),
      wishedBy: fc.constantFrom('Descheduler' as const, 'KubeVirtUpdate' as const, null),
      phase: fc.constantFrom('Running', 'Scheduled', 'Failed'),
      evacuation: anyEvacuation,
    }),
  });
const anyInput = fc
  .record({
    members: fc.tuple(...[1, 2, 3, 4, 5, 6].map(anyMember)),
    maxUnavailable: fc.integer({ min: 1, max: 4 }),
    method: fc.constantFrom('MigrateOrRestart' as const, 'Migrate' as const, 'Restart' as const),
    acting: fc.subarray(['web-1', 'web-4']),
  })
  .map(({ members, maxUnavailable, method, acting }) =>
    inputOf({
      spec: { maxUnavailable, drain: { method } },
      vms: members.map(({ vm }) => vm),
      vmis: Object.fromEntries(members.map(({ vm, vmi }) => [vm.name, vmi])),
      acting,
    }),
  );

describe('a drain', () => {
  test('takes no serving VM down beyond the budget', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { pool, vms, vmiOf, acting } = input;
        const active = vms.filter(isRegular).filter((vm) => !vm.deleting);
        const before = unavailability({ pool, vms: active, vmiOf, inProgress: acting }).names;
        const serving = planDrain(input).evacuate.filter(
          ({ name }) => !before.has(name) && vmiOf(vms.find((vm) => vm.name === name)!)!.ready,
        );
        expect(serving.length).toBeLessThanOrEqual(Math.max(maxUnavailableOf(pool) - before.size, 0));
      }),
    );
  });

  test('begins with each VM that is to leave, has it on its way, or reports what it waits for', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { evacuate, statuses } = planDrain(input);
        const leaving = input.vms
          .filter((vm) => !vm.deleting && departureOf(input.vmiOf(vm)) !== null)
          .map(({ name }) => name);
        expect(statuses.map(({ vm }) => vm).sort()).toEqual(leaving.sort());
        expect(statuses.every(({ message }) => message !== '')).toBe(true);
        expect(leaving).toEqual(expect.arrayContaining(evacuate.map(({ name }) => name)));
      }),
    );
  });

  test('restarts no VM off a node that is not drained', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const restarted = planDrain(input).evacuate.filter(({ act }) => act === 'restart');
        for (const { name } of restarted)
          expect(input.vmiOf(input.vms.find((vm) => vm.name === name)!)).toMatchObject({ nodeDrained: true });
      }),
    );
  });

  test('is not held by a VM that is down, unless its owner opted it out', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const held = planDrain(input).statuses.filter(({ state }) => state === 'Budget' || state === 'Window');
        for (const { vm: name } of held) {
          const vm = input.vms.find((one) => one.name === name)!;
          const vmi = input.vmiOf(vm)!;
          expect(isDown(vm, vmi) && !vmi.ready && vmi.nodeDrained).toBe(false);
        }
      }),
    );
  });
});

test('puts a VM whose migration KubeVirt does not begin behind all others', () => {
  const refusals = [
    { vm: 'web-1', uid: 'vmi-of-uid-of-web-1', message: 'not begun', since: null, times: 0, notBefore: NOW - 1 },
  ];
  expect(begun(plan({ refusals }))).toEqual(['web-2', 'web-3']);
  expect(begun(plan({ vms: six.slice(0, 1), refusals }))).toEqual(['web-1']);
});

test.each<[string, Given]>([
  ['of a VM that is to stay', { spec: { drain: {} } }],
  ['in a pool that leaves drains to others', { spec: { drain: undefined } as never }],
])('a migration %s is taken back as well if KubeVirt does not begin it', (_what, given) => {
  const migration = { name: 'update-1', phase: 'Pending', createdAt: NOW - 14 * 60_000 };
  const pending = { evacuation: UNDERWAY, migration };
  const vmis = { 'web-1': pending };
  expect(plan({ vms: six.slice(0, 1), vmis, ...given })).toMatchObject({ evacuate: [], requeueAt: NOW + 60_000 });
  const late = plan({ vms: six.slice(0, 1), vmis, ...given, now: NOW + 60_000 });
  expect(late).toMatchObject({ evacuate: [{ name: 'web-1', act: 'cancel' }], statuses: [] });
});
