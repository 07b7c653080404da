import { expect, test } from 'vitest';
import type { BudgetClaim } from '../../../api/budgets/budget.ts';
import { nodeReport, type NodeReportItem, type OnNode } from '../../../clients/drain/node-report.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

const EVICTED = { evictionStrategy: 'External', evacuationNode: 'node-1', nodeDrained: true };
const STARTING: Partial<VmiView> = { evictionStrategy: 'External', phase: 'Scheduling', ready: false, node: null };
const CORDONED: Partial<VmiView> = { ...STARTING, podNode: 'node-1', podNodeCordoned: true };
const NONE: Partial<VmiView> = { evictionStrategy: 'None' };
const drained = aPool({ replicas: 3, maxUnavailable: 1, drain: {} });

const restarting = (method: 'Migrate' | 'Restart'): StoredPool => aPool({ replicas: 3, drain: { method } });

interface Member {
  vm?: VmView | null;
  vmi?: Partial<VmiView>;
  pool?: StoredPool | null;
  isStarting?: boolean;
}

const NOW = 1_000_000;

function report(
  members: Member[],
  clusterStrategy = 'None',
  {
    budgets = [],
    operations = [],
    pastBudgets = false,
  }: { budgets?: StoredBudget[]; operations?: StoredOperation[]; pastBudgets?: boolean } = {},
): NodeReportItem[] {
  const onNode = members.map(({ vm = aVm('web-1'), vmi, pool = null, isStarting = false }): OnNode => ({
    vm,
    vmi: aVmi(vm ?? aVm('alone'), { ...(vm === null ? { vmUid: null } : {}), ...vmi }),
    pool,
    isStarting,
  }));
  return nodeReport({
    onNode,
    membersOf: () => onNode.flatMap(({ vm }) => vm ?? []),
    vmiOf: ({ uid }) => onNode.find(({ vmi }) => vmi.vmUid === uid)?.vmi,
    clusterStrategy,
    labelsOfNode: (node) => ({ zone: node }),
    budgetsOf: () => budgets,
    operations,
    pastBudgets,
    now: NOW,
  });
}

const state = (member: Member, clusterStrategy?: string): string => report([member], clusterStrategy)[0]!.state;

test('VMs of a pool with drain are reported as the pool itself reports them', () => {
  const members = ['web-1', 'web-2', 'web-3'].map((name) => ({ vm: aVm(name), pool: drained }));
  const asked = members.slice(0, 2).map((member) => ({ ...member, vmi: EVICTED }));
  const told = report([...asked, { ...members[2]!, vmi: { evictionStrategy: 'External' } }]);
  expect(told.map(({ name, state: is }) => `${name} ${is}`)).toEqual([
    'web-1 Evacuating',
    'web-2 Budget',
    'web-3 NotAsked',
  ]);
  expect(told[0]).toMatchObject({ namespace: 'shop', owner: 'VirtualMachinePool/web' });
});

test('VMs that are down hold nothing up: they are restarted, whatever the budget', () => {
  const members = ['web-1', 'web-2', 'web-3'].map((name) => ({
    vm: aVm(name, { ready: name === 'web-1' }),
    vmi: { ...EVICTED, ready: name === 'web-1' },
    pool: drained,
  }));
  expect(report(members).map(({ name, message }) => `${name} ${message}`)).toEqual([
    'web-1 waits: 2 VMs are unavailable or being moved, and maxUnavailable allows 1',
    'web-2 is being restarted: it is not ready, so a restart costs nothing',
    'web-3 is being restarted: it is not ready, so a restart costs nothing',
  ]);
});

test('a VM waits for a migration by others, and takes no place of another VM meanwhile', () => {
  const pool = aPool({ replicas: 2, maxUnavailable: 1, drain: {} });
  const members = ['web-1', 'web-2'].map((name) => ({ vm: aVm(name), vmi: EVICTED, pool }));
  const told = report([
    { ...members[0]!, vmi: { ...EVICTED, migration: { name: 'mine', phase: 'Pending', createdAt: 0 } } },
    members[1]!,
  ]);
  expect(told.map(({ state: is }) => is)).toEqual(['Waiting', 'Evacuating']);
  expect(told[0]!.message).toMatch('its migration mine, made at 1970-01-01T00:00:00.000Z, is Pending');
});

test('VMs wait while the members of their pool change', () => {
  const annotations = changeAnnotation({ kind: 'takeover', by: 'ann', at: '2026-01-01T00:00:00Z' });
  const pool = aPool({ replicas: 3, drain: {} }, { annotations });
  expect(report([{ vmi: EVICTED, pool }])[0]).toMatchObject({
    state: 'Waiting',
    message: 'waits: the members of its pool are changing',
  });
});

test.each<[string, Member, string | undefined, NodeReportItem['state']]>([
  ['LiveMigrate', { vmi: { evictionStrategy: 'LiveMigrate' } }, undefined, 'KubeVirt'],
  ['LiveMigrate that can not', { vmi: { evictionStrategy: 'LiveMigrate', migratable: false } }, undefined, 'Blocked'],
  ['LiveMigrateIfPossible', { vmi: { evictionStrategy: 'LiveMigrateIfPossible' } }, undefined, 'KubeVirt'],
  [
    'the same that can not',
    { vmi: { evictionStrategy: 'LiveMigrateIfPossible', migratable: false } },
    undefined,
    'ShutDown',
  ],
  ['None', { vmi: { evictionStrategy: 'None' } }, 'LiveMigrate', 'ShutDown'],
  ['None, of a pool with drain whose VMs run an older template', { vmi: NONE, pool: drained }, undefined, 'ShutDown'],
  ["the cluster's", {}, 'LiveMigrate', 'KubeVirt'],
  ['External, and nobody acts', { vmi: EVICTED, pool: aPool() }, undefined, 'Blocked'],
  [
    'External, and the drain was called off',
    { vmi: { ...EVICTED, nodeDrained: false }, pool: drained },
    undefined,
    'Waiting',
  ],
  ['a template before drain', { vmi: { evictionStrategy: 'LiveMigrate' }, pool: drained }, undefined, 'KubeVirt'],
  ['External, of a VMI that has not come up', { vmi: STARTING, isStarting: true }, undefined, 'Blocked'],
  ['the same, of a pool with drain', { vmi: STARTING, pool: drained, isStarting: true }, undefined, 'NotAsked'],
  ['the same, on a cordoned node', { vmi: CORDONED, pool: drained, isStarting: true }, undefined, 'Evacuating'],
  [
    'the same, of a VM that tolerates cordons',
    { vmi: { ...CORDONED, toleratesCordons: true }, pool: drained, isStarting: true },
    undefined,
    'Blocked',
  ],
  [
    'LiveMigrate, of the same',
    { vmi: { ...STARTING, evictionStrategy: 'LiveMigrate' }, isStarting: true },
    undefined,
    'Blocked',
  ],
  ['None, of the same', { vmi: { ...STARTING, ...NONE }, isStarting: true }, undefined, 'ShutDown'],
  ['of a VMI that is ending', { vmi: { ...EVICTED, deleting: true }, pool: drained }, undefined, 'Ends'],
  ['of a VMI that cannot end', { vmi: { ...EVICTED, deleting: true, nodeLost: true } }, undefined, 'Blocked'],
  ['none of a VMI that has ended', { vmi: { ...EVICTED, phase: 'Failed' }, pool: drained }, undefined, 'Ends'],
  ['none of a VMI that ends', { vmi: { ...EVICTED, deleting: true }, pool: drained }, undefined, 'Ends'],
  ['none of a VMI without a VM', { vm: null }, undefined, 'ShutDown'],
])('the strategy %s', (_what, member, clusterStrategy, expected) => {
  expect(state(member, clusterStrategy)).toBe(expected);
  expect(report([member], clusterStrategy)[0]!.message).not.toBe('');
});

const BY_USER = { reason: 'PausedByUser', message: '' };
const SNAPSHOT = { operations: [{ kind: 'Snapshot' as const, object: null }] };
test.each<[string, Member, string | undefined, NodeReportItem['state'], boolean]>([
  ['a VM whose owner opted out', { vm: aVm('web-1', { optedOut: true }) }, 'None', 'Blocked', true],
  ['the same that KubeVirt would migrate', { vm: aVm('web-1', { optedOut: true }) }, 'LiveMigrate', 'Blocked', true],
  ['a VM whose snapshot is taken', { vm: aVm('web-1', SNAPSHOT) }, 'None', 'Waiting', true],
  ['a VM that a user has paused', { vmi: { pause: BY_USER } }, 'None', 'Blocked', true],
  ['a paused VM that moves with its memory', { vmi: { pause: BY_USER } }, 'LiveMigrate', 'KubeVirt', false],
  ['any other VM', {}, 'None', 'ShutDown', false],
])('%s: what drover would not disrupt is not evicted either', (_who, member, strategy, expected, isKept) => {
  expect(report([{ ...member, pool: aPool() }], strategy)[0]).toMatchObject({ state: expected, isKept });
});

const WITHIN = 'within disruption budget shop/db';
const NIGHT = [{ cron: '0 0 29 2 *', duration: '1m' }];
const counted = (budget: StoredBudget, expected: number): StoredBudget => ({ ...budget, status: { expected } });
const LIVE: Member = { vmi: { evictionStrategy: 'LiveMigrate' } };

test.each<[string, Member, StoredBudget, Partial<NodeReportItem>]>([
  ['migrated', LIVE, aBudget(), { state: 'NotAsked', act: 'Migrate', message: `will be migrated ${WITHIN}` }],
  [
    'restarted',
    {},
    aBudget(),
    { state: 'ShutDown', act: 'Restart', message: `will be shut down, and started elsewhere, ${WITHIN}` },
  ],
  [
    'never moved',
    LIVE,
    counted(aBudget({ minAvailable: 3 }), 3),
    { state: 'Blocked', isKept: true, act: null, message: 'stays: disruption budget shop/db never has room' },
  ],
  ['never migrated', LIVE, aBudget({ maxMigrating: 0 }), { state: 'Blocked', isKept: true, act: null }],
  ['migrated beside a limit', LIVE, counted(aBudget({ minAvailable: 3, maxMigrating: 1 }), 3), { act: 'Migrate' }],
  ['moved once closed windows open', LIVE, aBudget({ windows: NIGHT, outside: 'Deny' }), { act: 'Migrate' }],
  [
    'evicted outside of windows',
    LIVE,
    aBudget({ maxUnavailable: 1, windows: NIGHT, outside: 'Allow' }),
    { state: 'KubeVirt', act: null },
  ],
  [
    'evicted beside reasons',
    LIVE,
    aBudget({ maxUnavailable: 0, reasons: ['Rollout'] }),
    { state: 'KubeVirt', act: null },
  ],
  [
    'evicted while it is down',
    { vm: aVm('web-1', { ready: false }), vmi: { ...LIVE.vmi, ready: false } },
    aBudget(),
    { state: 'KubeVirt', act: null },
  ],
  [
    'left to a migration that has begun',
    { vmi: { ...LIVE.vmi, migration: { name: 'mine', phase: 'Pending', createdAt: 0 } } },
    aBudget(),
    { state: 'KubeVirt', act: null },
  ],
  [
    'left alone by its owner',
    { ...LIVE, vm: aVm('web-1', { optedOut: true }) },
    aBudget(),
    { state: 'Blocked', act: null },
  ],
])('a VM under a disruption budget is %s', (_what, member, budget, expected) => {
  expect(report([member], 'None', { budgets: [budget] })[0]).toMatchObject(expected);
});

const past = (operation: StoredOperation): StoredOperation => ({
  ...operation,
  spec: { ...operation.spec, pastBudgets: true },
});

const MADE = new Date(NOW - 60_000).toISOString();
const operationWith = (status: StoredOperation['status'], creationTimestamp = MADE) =>
  anOperation({ action: 'Migrate', vms: { names: ['web-1'] } }, { creationTimestamp }, status);
const ago = (ms: number): string => new Date(NOW - ms).toISOString();
const failures = [{ vm: 'web-1', message: 'no node fits' }];

test.each<[string, StoredOperation, Partial<NodeReportItem>]>([
  ['has not begun', operationWith({}), { state: 'Waiting', message: 'waits: operation shop/nightly has its turn' }],
  [
    'waits for the budget',
    operationWith({ waits: [{ message: 'budget shop/db has no room', vms: 1, names: ['web-1'] }] }),
    { state: 'Waiting', message: 'waits: budget shop/db has no room' },
  ],
  [
    'must be left',
    operationWith({ waits: [{ message: 'it can not', vms: 1, names: ['web-1'], excluded: true }] }),
    { state: 'Blocked', message: 'stays: it can not' },
  ],
  ['is in progress', operationWith({ inProgress: ['web-1'] }), { state: 'Evacuating', message: 'is being migrated' }],
  [
    'has just failed',
    operationWith({ failures }),
    { state: 'Waiting', message: 'waits to be tried again: operation shop/nightly: no node fits' },
  ],
  [
    'has failed a while ago',
    operationWith({ failures }, ago(300_000)),
    { state: 'NotAsked', act: 'Migrate', isKept: false },
  ],
  ['has ended a while ago', operationWith({ completionTime: ago(300_000) }), { act: 'Migrate', isKept: false }],
  ['has just ended', operationWith({ completionTime: ago(1_000) }), { state: 'Waiting' }],
])('a VM whose operation %s is not evicted, and not given to another one', (_what, operation, expected) => {
  const [item] = report([LIVE], 'None', { budgets: [aBudget()], operations: [operation] });
  expect(item).toMatchObject({ isKept: true, act: null, ...expected });
});

const COUNTED = { expected: 3, available: 3, migrating: 0 };
const claimOf = (vm: string, domain?: string): BudgetClaim => {
  const claim: BudgetClaim = { namespace: 'shop', vm, by: 'operation/c/shop/o', reason: 'Restart', at: MADE };
  return domain === undefined ? claim : { ...claim, domain };
};
const NO_ROOM = 'waits: disruption budget shop/db has no room: ';

test.each<[string, StoredBudget, StoredBudget['status'], string[]]>([
  ['has room', aBudget({ maxUnavailable: 3 }), COUNTED, ['is being migrated', 'is being migrated']],
  ['has not been counted yet', aBudget({ maxUnavailable: 1 }), {}, ['is being migrated', 'is being migrated']],
  [
    'has room for one',
    aBudget({ maxUnavailable: 1 }),
    COUNTED,
    ['is being migrated', `${NO_ROOM}2 of 3 VMs are available and not claimed, and maxUnavailable is 1`],
  ],
  [
    'is full',
    aBudget({ minAvailable: 2 }),
    { ...COUNTED, available: 2 },
    Array.from({ length: 2 }, () => `${NO_ROOM}2 of 3 VMs are available and not claimed, and minAvailable is 2`),
  ],
  [
    'has given one a place',
    aBudget({ minAvailable: 2 }),
    { ...COUNTED, available: 2, claims: [claimOf('web-1')] },
    ['is being migrated', `${NO_ROOM}2 of 3 VMs are available and not claimed, and minAvailable is 2`],
  ],
  [
    'lets one migrate',
    aBudget({ maxUnavailable: 0, maxMigrating: 1 }),
    COUNTED,
    ['is being migrated', `${NO_ROOM}1 VM migrates, and maxMigrating is 1`],
  ],
  [
    'is closed',
    aBudget({ windows: NIGHT, outside: 'Deny' }),
    COUNTED,
    Array.from({ length: 2 }, () => expect.stringContaining('waits: disruption budget shop/db: ') as string),
  ],
  [
    'has VMs down in another domain',
    aBudget({ topology: { key: 'zone', maxDomains: 1 } }),
    { ...COUNTED, claims: [claimOf('db-1', 'node-9')] },
    Array.from({ length: 2 }, () => expect.stringContaining('in these domains: node-9; ') as string),
  ],
  [
    'has VMs down in the same domain',
    aBudget({ topology: { key: 'zone', maxDomains: 1 } }),
    { ...COUNTED, claims: [claimOf('db-1', 'node-1')] },
    ['is being migrated', 'is being migrated'],
  ],
  [
    'does not ask for drains',
    aBudget({ maxUnavailable: 1, reasons: ['Rollout'] }),
    { ...COUNTED, available: 2 },
    ['is being migrated', 'is being migrated'],
  ],
])('a VM that its pool moves waits for a disruption budget as its status says: one that %s', (...of) => {
  const [, budget, status, expected] = of;
  const pool = aPool({ replicas: 3, maxUnavailable: 3, drain: {} });
  const members = ['web-1', 'web-2'].map((name) => ({ vm: aVm(name), vmi: { ...EVICTED, node: 'node-1' }, pool }));
  const told = report(members, 'None', { budgets: [{ ...budget, status: { ...status } }] });
  expect(told.map(({ message }) => message)).toEqual(expected);
});

test.each<[string, Partial<VmiView>, StoredPool, Partial<NodeReportItem>]>([
  ['before it is evicted', { evictionStrategy: 'External' }, drained, { state: 'Blocked' }],
  ['while it waits', EVICTED, drained, { state: 'Blocked' }],
  ['and is down', { ...EVICTED, ready: false }, drained, { state: 'Evacuating' }],
  ['and migrates', { ...EVICTED, migration: { name: 'mine', phase: 'Pending', createdAt: 0 } }, drained, {}],
])('a VM of a pool is told apart that no budget ever lets go: %s', (_when, vmi, pool, expected) => {
  const vm = aVm('web-1', { ready: vmi.ready ?? true });
  const [item] = report([{ vm, vmi, pool }], 'None', { budgets: [counted(aBudget({ minAvailable: 3 }), 3)] });
  const never = 'stays: disruption budget shop/db never has room';
  expect(item).toMatchObject({ isKept: false, act: null, ...expected });
  expect(item!.message === never).toBe(expected.state === 'Blocked');
});

test('a cluster-wide budget that a VM waits for has its name for users who may see it', () => {
  const { namespace: _, ...metadata } = aBudget().metadata;
  const all = { ...aBudget(), metadata: { ...metadata, name: 'all' } };
  const waits = [{ message: 'a cluster-wide disruption budget has no room', vms: 1, names: ['web-1'] }];
  const operations = [operationWith({ waits })];
  const said = (budgets: StoredBudget[]) => report([LIVE], 'None', { budgets, operations })[0]!.message;
  expect(said([aBudget()])).toBe('waits: a cluster-wide disruption budget has no room');
  expect(said([all, aBudget()])).toBe('waits: cluster-wide disruption budget all has no room');
  const full = { ...all, status: { ...COUNTED, available: 2 } };
  const pool = aPool({ replicas: 1, drain: {} });
  expect(report([{ vmi: EVICTED, pool }], 'None', { budgets: [full] })[0]!.message).toContain(
    'waits: cluster-wide disruption budget all has no room: 2 of 3',
  );
});

test('the operation of another VM, or of another namespace, is none of a VM', () => {
  const others = [
    anOperation({ action: 'Migrate', vms: { names: ['web-2'] } }),
    anOperation({ action: 'Migrate', vms: { names: ['web-1'] } }, { namespace: 'lab' }),
  ];
  expect(report([LIVE], 'None', { budgets: [aBudget()], operations: others })[0]).toMatchObject({ act: 'Migrate' });
});

const PAST = 'past disruption budget shop/db';
const NEVER = counted(aBudget({ minAvailable: 3 }), 3);

test.each<[string, Member, Partial<NodeReportItem>]>([
  ['that KubeVirt can migrate', LIVE, { state: 'NotAsked', act: 'Migrate', message: `will be migrated ${PAST}` }],
  ['that it cannot', {}, { act: 'Restart', message: `will be shut down, and started elsewhere, ${PAST}` }],
  ['of a pool that has not moved it', { vmi: EVICTED, pool: drained }, { state: 'NotAsked', act: 'Migrate' }],
  ['of a pool that restarts', { vmi: EVICTED, pool: restarting('Restart') }, { act: 'Restart' }],
  [
    'of a pool that only migrates',
    { vmi: { ...EVICTED, migratable: false }, pool: restarting('Migrate') },
    { act: null },
  ],
  ['that is down', { vm: aVm('web-1', { ready: false }), vmi: { ...LIVE.vmi, ready: false } }, { act: null }],
  ['whose owner opted out', { ...LIVE, vm: aVm('web-1', { optedOut: true }) }, { state: 'Blocked', act: null }],
])('a drain past budgets has a VM leave that a budget would never let go: %s', (_which, member, expected) => {
  expect(report([member], 'None', { budgets: [NEVER], pastBudgets: true })[0]).toMatchObject(expected);
});

test.each<[string, StoredOperation, Partial<NodeReportItem>]>([
  ['waits', operationWith({}), { act: 'Migrate' }],
  ['is in progress', operationWith({ inProgress: ['web-1'] }), { act: null, isKept: true }],
  ['goes past budgets itself', past(operationWith({})), { act: null, isKept: true }],
])('a drain past budgets makes no other operation for a VM unless the one that there is may wait: it %s', (...of) => {
  const [, operation, expected] = of;
  const pacing = { budgets: [NEVER], operations: [operation], pastBudgets: true };
  expect(report([LIVE], 'None', pacing)[0]).toMatchObject(expected);
});
