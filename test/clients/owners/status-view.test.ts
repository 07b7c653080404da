import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { isPool } from '../../../clients/cli/owner.ts';
import { countStates, membersByOwner, vmiMember, vmMember, type Member } from '../../../clients/owners/members.ts';
import { statusLines, type OwnerView } from '../../../clients/owners/status-view.ts';
import { rolloutView } from '../../../clients/pool/view.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith, revisionWith, type UserRequest } from '../rollout/pools.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'default',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...more,
});
const owned = (uid: string) => ({
  ownerReferences: [
    { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid, controller: true },
  ],
});

const pool = {
  metadata: meta('web'),
  spec: { replicas: 4, template: {} },
  status: { replicas: 2, updateRevision: 'new', updatedReplicas: 1 },
} as unknown as Stored<Pool>;
const vm = (name: string, state: string, more: object = {}, runStrategy = 'Always'): Member =>
  vmMember({
    metadata: meta(name, { labels: { 'drover.dev/revision': 'new' }, ...owned('web'), ...more }),
    spec: { runStrategy },
    status: { printableStatus: state, ready: state === 'Running' },
  });
/** A pool or set as it is shown; what is not told of it is not known. */
function shown(
  view: Pick<OwnerView, 'kind' | 'owner'> & Partial<OwnerView>,
  revisions: Parameters<typeof rolloutView>[1] = [],
): string[] {
  const { kind, owner } = view;
  const rollout = isPool(kind, owner) ? rolloutView(owner, revisions) : undefined;
  return statusLines({ members: [], progress: undefined, rollout, ...view }, NOW, undefined);
}

test('a pool is reported in numbers that leave out VMs that are leaving', () => {
  const vms = [
    vm('web-1', 'Running'),
    vm('web-2', 'Starting'),
    vm('web-3', 'Running', { deletionTimestamp: '2026-01-01T00:00:30Z' }),
  ];
  const [head, states] = shown({ kind: Pools, owner: pool, members: vms });
  expect(head).toMatch(/^default\/web {2}█{5}░{15} 1\/4 ready, 2 total, 1 updated$/);
  expect(states).toBe('  VMs: Running 1, Starting 1, Terminating 1');
});

test('of a pool, VMs count as wanted that are to run, and its stopped ones are told beside', () => {
  const halted = vm('web-3', 'Stopped', {}, 'Halted');
  const begun = vm('web-4', 'Stopped');
  const members = [vm('web-1', 'Running'), vm('web-2', 'Running'), halted, begun];
  const [head] = shown({ kind: Pools, owner: pool, members });
  expect(head).toMatch(/█{13}░{7} 2\/3 ready, 1 stopped, 4 total, 1 updated$/);
});

test.each(['RerunOnFailure', 'Once', 'Manual'])('a VM of run strategy %s that starts is not stopped', (strategy) => {
  const members = [vm('web-1', 'Starting', {}, strategy), vm('web-2', 'Stopped', {}, strategy)];
  const [head] = shown({ kind: Pools, owner: pool, members });
  expect(head).toMatch(/ 0\/3 ready, 1 stopped, 2 total, 1 updated$/);
});

test('the work in progress, the next try and the last three errors follow', () => {
  const recentErrors = [1, 2, 3, 4].map((n) => ({
    time: '2026-01-01T00:00:50Z',
    reason: 'Forbidden',
    message: `quota ${n}`,
  }));
  const progress = {
    creating: [],
    deleting: [],
    doing: ['create web-5'],
    recentErrors,
    retryAt: '2026-01-01T00:01:09.5Z',
    updating: [],
    rollout: null,
  };
  const lines = shown({ kind: Pools, owner: pool, progress: { known: true, progress } }).slice(2);
  expect(lines).toEqual([
    '  in progress: create web-5',
    '  next try in 10s',
    '  10s ago: Forbidden: quota 2',
    '  10s ago: Forbidden: quota 3',
    '  10s ago: Forbidden: quota 4',
  ]);
});

test('past errors are not shown for a pool that is well', () => {
  const recentErrors = [{ time: '2026-01-01T00:00:50Z', reason: 'FailedCreate', message: 'quota' }];
  const progress = { creating: [], deleting: [], doing: [], recentErrors, retryAt: null, updating: [], rollout: null };
  const lines = (members: Member[], more: object = {}): string[] =>
    shown({
      kind: Pools,
      owner: pool,
      members,
      progress: { known: true, progress: { ...progress, ...more } },
    });
  const all = [1, 2, 3, 4].map((n) => vm(`web-${n}`, 'Running'));
  const error = '  10s ago: FailedCreate: quota';
  expect(lines(all)).not.toContain(error);
  expect(lines(all.slice(1))).toContain(error);
  expect(lines(all, { doing: ['delete web-5'] })).toContain(error);
});

test('a drain is shown', () => {
  const draining = { type: 'Draining', status: 'True', reason: 'Evacuating', message: 'web-1 is to leave node-2' };
  expect(withConditions(draining)).toEqual(['  Draining: Evacuating: web-1 is to leave node-2']);
});

test('standby VMs are counted separately', () => {
  const owner = { ...pool, spec: { ...pool.spec, standby: { replicas: 2 } }, status: { standbyReplicas: 2 } };
  const [head] = shown({ kind: Pools, owner: owner as Stored<Pool> });
  expect(head).toMatch(/0\/4 ready, 0 total, 0 updated, 0\/2 standby$/);
});

test('a pool that cannot make its VMs says why', () => {
  const failed = {
    ...pool,
    status: {
      ...pool.status,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'Forbidden', message: 'exceeded quota' }],
    },
  };
  expect(shown({ kind: Pools, owner: failed as Stored<Pool> })).toContain(
    '  ReplicaFailure: Forbidden: exceeded quota',
  );
});

test('an error that a condition already reports is not repeated', () => {
  const why = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: no';
  const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: `web-1: ${why}` }];
  const failed = { ...pool, status: { ...pool.status, conditions } } as Stored<Pool>;
  const recentErrors = [why, 'quota'].map((message) => ({
    time: '2026-01-01T00:00:50Z',
    reason: 'Forbidden',
    message,
  }));
  const progress = { creating: [], deleting: [], doing: [], recentErrors, retryAt: null, updating: [], rollout: null };
  expect(shown({ kind: Pools, owner: failed, progress: { known: true, progress } }).slice(2)).toEqual([
    `  ReplicaFailure: FailedCreate: web-1: ${why}`,
    '  10s ago: Forbidden: quota',
  ]);
});

const withConditions = (...conditions: object[]): string[] =>
  shown({
    kind: Pools,
    owner: { ...pool, status: { ...pool.status, conditions } } as Stored<Pool>,
  }).slice(2);

test('a pool whose VMs are healed, or are unhealthy and not healed, says so', () => {
  const suspended = { type: 'HealingSuspended', status: 'True', reason: 'TooManyUnhealthy', message: '3 VMs are sick' };
  expect(
    withConditions({ type: 'Healing', status: 'True', reason: 'ReplacingVms', message: 'web-1' }, suspended),
  ).toEqual(['  HealingSuspended: TooManyUnhealthy: 3 VMs are sick', '  Healing: ReplacingVms: web-1']);
  expect(withConditions({ type: 'Healing', status: 'False', reason: 'Waiting', message: 'web-1 is sick' })).toEqual([
    '  Healing: Waiting: web-1 is sick',
  ]);
  expect(
    withConditions(
      { type: 'Healing', status: 'False', reason: 'NothingToHeal', message: '' },
      { ...suspended, status: 'False', reason: 'NotSuspended', message: '' },
    ),
  ).toEqual([]);
  const [long] = withConditions({
    type: 'Healing',
    status: 'True',
    reason: 'ReplacingVms',
    message: 'web-1 '.repeat(100),
  });
  expect(long).toMatch(/^ {2}Healing: ReplacingVms: web-1 [^]{200,400}…$/);
});

test('revisions have their numbers as far as these are known', () => {
  const lines = shown({ kind: Pools, owner: poolWith() }, [revisionWith(7, 2)]);
  expect(lines.at(-1)).toMatch(/^ {2}revision 7 \(\w+\), from \w+$/);
});

const told = (said: UserRequest): string[] => shown({ kind: Pools, owner: poolWith(said) }).slice(2);

test('a rollout is reported while there is something to report', () => {
  const failures = [{ vm: 'web-1', message: 'not ready in time', at: '2026-01-01T00:00:00Z' }];
  expect(told({ progressing: ['Complete', 'False'] })).toEqual([]);
  expect(told({})).toEqual(['  RollingOut: so it is', expect.stringMatching(/^ {2}revision /)]);
  expect(told({ progressing: ['Complete', 'False'], rollout: { failures } })).toContain(
    '  web-1 failed at 2026-01-01T00:00:00Z: not ready in time',
  );
  expect(told({ progressing: ['Complete', 'False'], spec: { paused: true } })).toContain('  paused by spec.paused');
});

test('VMs belong to the pool whose UID controls them, whatever their labels say, and web-2 comes before web-10', () => {
  const stranger = vm('web-9', 'Running', { ownerReferences: [], labels: { 'drover.dev/pool': 'web' } });
  const members = membersByOwner(
    [vm('web-10', 'Running'), stranger, vm('web-2', 'Running'), vm('other-1', 'Running', owned('other'))],
    Pools,
  );
  const namesOf = (uid: string, namespace = 'default'): string[] =>
    members({ namespace, uid }).map(({ metadata }) => metadata.name);
  expect(namesOf('web')).toEqual(['web-2', 'web-10']);
  expect(namesOf('other')).toEqual(['other-1']);
  expect(namesOf('web', 'another')).toEqual([]);
});

test('states are counted, the most frequent first', () => {
  expect(
    countStates([vm('a', 'Starting'), vm('b', 'Running'), vm('c', 'Running'), vmMember({ metadata: meta('d') })]),
  ).toEqual([
    ['Running', 2],
    ['Created', 1],
    ['Starting', 1],
  ]);
});

test('a replica set is reported in numbers, and what it waits for while VMs come or go', () => {
  const busy = { type: 'Progressing', status: 'True' as const, reason: 'ScalingOut', message: '1 of 3 VMs exist' };
  const quiet = { type: 'Paused', status: 'False' as const, reason: 'NotPaused', message: '' };
  const owner = setWith({}, { availableReplicas: 1, conditions: [busy, quiet] });
  const members = [vm('web-b2c3d', 'Running')];
  const lines = shown({ kind: VmSets, owner, members });
  expect(lines).toEqual([
    expect.stringMatching(/^default\/web {2}█{6}░{14} 1\/3 ready, 1 total, 1 available$/),
    '  VMs: Running 1',
    '  Progressing: ScalingOut: 1 of 3 VMs exist',
  ]);
});

test('a replica set at rest says nothing more, and a paused one says so', () => {
  const done = { type: 'Progressing', status: 'False' as const, reason: 'Complete', message: '3 of 3 VMs exist' };
  const paused = { type: 'Paused', status: 'True' as const, reason: 'PausedBySpec', message: 'spec.paused is true' };
  const told = (...conditions: (typeof done | typeof paused)[]): string[] =>
    shown({ kind: VmSets, owner: setWith({}, { conditions }) }).slice(2);
  expect(told(done)).toEqual([]);
  expect(told(paused)).toEqual(['  Paused: PausedBySpec: spec.paused is true']);
});

const instance = (phase: string, ready: 'True' | 'False'): Member =>
  vmiMember({
    metadata: meta('web-b2c3d'),
    status: { phase, conditions: [{ type: 'Ready', status: ready }] },
  });

test('an instance counts as ready by its condition, and is in the state of its phase', () => {
  expect([instance('Running', 'True'), instance('Running', 'False')].map(({ isReady }) => isReady)).toEqual([
    true,
    false,
  ]);
  expect(countStates([instance('Scheduling', 'False')])).toEqual([['Scheduling', 1]]);
});

test('what keeps VMs from starting is quoted', () => {
  const message = '1 VM cannot start; web-1: Failure while starting VMI: denied: VMIs need the label team';
  const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedStart', message }];
  const owner = { ...pool, status: { ...pool.status, conditions } } as Stored<Pool>;
  expect(shown({ kind: Pools, owner, members: [vm('web-1', 'Stopped')] })).toContain(
    `  ReplicaFailure: FailedStart: ${message}`,
  );
});
