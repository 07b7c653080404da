import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ADOPT_VMS_ANNOTATION,
  MEMBERSHIP_CHANGE_ANNOTATION,
  POOL_FINALIZER,
  POOL_LABEL,
  UID_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { changeAnnotation, membershipChangeOf, type MembershipChange } from '../../../decisions/membership/change.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { aFailure, failed } from '../fixtures/backoffs.ts';
import { anyFleet, aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

const plan = (input: Partial<PoolPlanInput>): PoolPlan =>
  planPool({ pool: aPool(), vms: [], ...quiet, burst: 250, ...input });
const kinds = ({ steps }: PoolPlan): string[] => steps.map(({ kind }) => kind);
const namesIn = ({ steps }: PoolPlan, kind: 'addLabels' | 'removeLabels' | 'update'): string[] | undefined => {
  const found = steps.find((step) => step.kind === kind);
  if (found?.kind === 'update') return found.batch.vms.map(({ name }) => name);
  return found?.kind === 'addLabels' || found?.kind === 'removeLabels' ? found.vms.map(({ name }) => name) : undefined;
};
const conditionOf = ({ status }: PoolPlan) => status?.conditions?.find(({ type }) => type === 'MembershipChanging');

const asked = { by: 'ada', at: new Date(quiet.now).toISOString() };
const takeover: MembershipChange = { kind: 'takeover', ...asked };
const changing = (change: MembershipChange = takeover) => ({ annotations: changeAnnotation(change) });

test('a pool begins nothing that makes, changes, halts or deletes a VM while its members change', () => {
  fc.assert(
    fc.property(anyFleet, fc.nat(12), fc.boolean(), (vms, replicas, isOld) => {
      const template = isOld ? { ...aPool().spec.template, metadata: { labels: { a: 'b' } } } : aPool().spec.template;
      const pool = aPool({ replicas, template, autohealing: {} }, changing());
      const found = plan({ pool, vms, vmiOf: (vm) => (vm.hasVmi ? aVmi(vm) : undefined) });
      const others = kinds(found).filter((kind) => !HARMLESS.has(kind));
      expect(others).toEqual([]);
      expect(found.healing.begin).toEqual([]);
    }),
  );
});

const HARMLESS = new Set([
  'addFinalizer',
  // Which VMs it may move, the request says.
  'changeMembers',
  'createRevision',
  'addLabels',
  'removeLabels',
  'setRoles',
  'deleteRevisions',
  'unlabelKeptDisks',
  'clearNamedRemovals',
]);

test('the pool says so, after what it is still busy with', () => {
  const vms = [aVm('web-1'), aVm('web-2')];
  const held = plan({ pool: aPool({}, changing()), vms });
  expect(kinds(held)).not.toContain('create');
  expect(conditionOf(held)).toMatchObject({ status: 'True', reason: 'TakingOver' });
  expect(conditionOf(held)?.message).toContain('(`drover takeover`), begun by ada');

  const busy = plan({ pool: aPool({}, changing()), vms, inProgress: { creating: ['web-3'], deleting: [] } });
  expect(conditionOf(busy)).toMatchObject({ reason: 'Finishing' });
  expect(conditionOf(busy)?.message).toContain('busy with web-3');
  expect(conditionOf(plan({ vms }))).toBeUndefined();
});

test('an unreadable annotation holds the pool too, and the pool says that', () => {
  for (const text of ['', '{}', '{"kind":"adopt","by":"ada","at":"now"}', '{"kind":"move","by":"ada","at":"now"}']) {
    const pool = aPool({}, { annotations: { [MEMBERSHIP_CHANGE_ANNOTATION]: text } });
    expect(membershipChangeOf(pool)).toBe('unreadable');
    const held = plan({ pool });
    expect(kinds(held)).not.toContain('create');
    expect(conditionOf(held)).toMatchObject({ reason: 'InvalidAnnotation' });
  }
});

const naming = (named: object | string) => ({
  annotations: { [ADOPT_VMS_ANNOTATION]: typeof named === 'string' ? named : JSON.stringify(named) },
});
const adoptNamed = { kind: 'adoptNamed', vms: [{ name: 'old', uid: 'u' }] };
const two = [aVm('web-1'), aVm('web-2')];

test('VMs that users name are adopted whatever the number of the pool, which makes and deletes none for them', () => {
  for (const replicas of [2, 3]) {
    const found = plan({ pool: aPool({ replicas }, naming({ old: 'u' })), vms: two });
    expect(found.steps).toMatchObject([{ ...adoptNamed, reason: 'adopt old: a user wants them in the pool' }]);
  }
  const more = plan({ pool: aPool({ replicas: 4 }, naming({ old: 'u' })), vms: two });
  expect(more.steps).toMatchObject([adoptNamed, { kind: 'create', numbers: [3] }]);
});

test('a VM that is being adopted, or was refused, is not named again before its time, and its place stays free', () => {
  const pool = aPool({ replicas: 3 }, naming({ old: 'u' }));
  expect(plan({ pool, vms: two, inProgress: { creating: ['old'], deleting: [] } }).steps).toEqual([]);
  const backoffs = failed('FailedAdopt', { refused: { names: ['old'], isDelayed: true } });
  expect(plan({ pool, vms: two, backoffs })).toMatchObject({ steps: [], failures: [aFailure('FailedAdopt')] });
});

test('the name of a VM that has joined the pool is taken off it, and no VM is made for it', () => {
  const pool = aPool({ replicas: 3 }, naming({ old: 'u' }));
  expect(plan({ pool, vms: [...two, aVm('old', { uid: 'u' })] }).steps).toMatchObject([adoptNamed]);
});

test('VMs that a backup brings back get the places that named ones leave free', () => {
  const record = { owner: null, ownLabels: { [POOL_LABEL]: 'web' }, memberOf: 'of-before' };
  const back = [aVm('web-3', record), aVm('web-4', record)];
  const found = plan({
    pool: aPool({ replicas: 4 }, naming({ old: 'u', 'web-4': back[1]!.uid })),
    vms: two,
    uncontrolled: back,
  });
  expect(found.steps).toMatchObject([{ kind: 'adoptNamed', vms: [{ name: 'old' }, { name: 'web-4' }] }]);
});

test.each<[string, object]>([
  ['is being taken over', changing()],
  ['comes back from a backup', { annotations: { [UID_ANNOTATION]: 'of-before' } }],
])('a pool that %s adopts no VM by name', (_what, { annotations = {} }: { annotations?: object }) => {
  const metadata = { annotations: { ...naming({ old: 'u' }).annotations, ...annotations } };
  expect(kinds(plan({ pool: aPool({ replicas: 3 }, metadata), vms: two }))).not.toContain('adoptNamed');
});

test('names that can not be read hold the pool, and it says so', () => {
  const held = plan({ pool: aPool({ replicas: 3 }, naming('old')), vms: two });
  expect(held.steps).toEqual([]);
  expect(conditionOf(held)).toMatchObject({
    reason: 'InvalidAnnotation',
    message:
      "the pool begins nothing, because its annotation drover.dev/adopt-vms can't be read: " +
      'it must be a JSON object with the UID of each VM by its name',
  });
});

test('a pool that is deleted takes its VMs down, whatever was changing', () => {
  const pool = aPool({}, { ...changing(), deletionTimestamp: '2026-01-02T03:04:05Z' });
  const going = plan({ pool, vms: [aVm('web-1')] });
  expect(kinds(going)).toEqual(['delete']);
  expect(conditionOf(going)).toBeUndefined();
});

test('every kind of change is read as it was written', () => {
  const changes: MembershipChange[] = [takeover, { kind: 'takeover', ...asked }, { kind: 'release', ...asked }];
  for (const change of changes) expect(membershipChangeOf(aPool({}, changing(change)))).toEqual(change);
});

test('a VM without a controller loses the labels of the pool that it still names, and keeps those of another pool', () => {
  const left = aVm('web-2', { owner: null, labels: { [POOL_LABEL]: 'web' } });
  const others = [
    aVm('db-1', { owner: null, labels: { [POOL_LABEL]: 'db' }, ownLabels: { [POOL_LABEL]: 'db' } }),
    aVm('web-3', { owner: null, labels: {}, ownLabels: {} }),
    aVm('web-4', { owner: null, labels: { [POOL_LABEL]: 'web' }, deleting: true }),
  ];
  const vms = [aVm('web-1'), aVm('web-5'), aVm('web-6')];
  const found = plan({ vms, uncontrolled: [left, ...others], isVmNameTaken: (name) => name === 'web-2' });
  expect(namesIn(found, 'removeLabels')).toEqual(['web-2']);
});

test('a VM that the pool owns gets a missing label, and is not updated before its revision is known', () => {
  const came = aVm('web-2', { ownLabels: {}, revision: null });
  const vms = [aVm('web-1'), came, aVm('web-3')];
  const found = plan({ vms, vmiOf: (vm) => aVmi(vm) });
  expect(namesIn(found, 'addLabels')).toEqual(['web-2']);
  expect(namesIn(found, 'update')).toBeUndefined();
  const labelled = plan({
    vms: [aVm('web-1'), { ...came, ownLabels: { [POOL_LABEL]: 'web' } }, aVm('web-3')],
    vmiOf: (vm) => aVmi(vm),
  });
  expect(namesIn(labelled, 'addLabels')).toBeUndefined();
  expect(namesIn(labelled, 'update')).toEqual(['web-2']);
});

test('a VM without a controller that a finalizer holds for its disks is released, also by a pool that is deleted', () => {
  const labels = { [POOL_LABEL]: 'web' };
  const held = aVm('web-2', { owner: null, labels, ownLabels: labels, deleting: true, keepsDisks: true });
  expect(kinds(plan({ vms: [aVm('web-1')], uncontrolled: [held] }))).toContain('removeDiskFinalizers');
  const deleted = aPool({}, { deletionTimestamp: '2026-01-02T03:04:05Z', finalizers: [POOL_FINALIZER] });
  expect(kinds(plan({ pool: deleted, uncontrolled: [held] }))).toEqual(['removeDiskFinalizers']);
  expect(kinds(plan({ pool: deleted }))).toEqual(['removeFinalizer']);
});
