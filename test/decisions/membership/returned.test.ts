import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  KUBEVIRT_REVISION_LABEL,
  POOL_LABEL,
  REVISION_LABEL,
  UID_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import { RESTORE_QUIET_MS } from '../../../decisions/membership/restore.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { memberOf, memberOfAnnotation } from '../../../decisions/views/annotations/member-of.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { anyFleet, aPool, aVm, quiet, REVISION } from '../fixtures/fleets.ts';

const plan = (input: Partial<PoolPlanInput>): PoolPlan => {
  const { uncontrolled = [] } = input;
  const isVmNameTaken = (name: string): boolean => uncontrolled.some((vm) => vm.name === name);
  return planPool({ pool: aPool(), vms: [], ...quiet, isVmNameTaken, burst: 250, ...input });
};

/** A VM as a backup puts it back: its labels and annotations, without owner and status. */
const back = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, {
    owner: null,
    memberOf: 'old-uid',
    labels: { [POOL_LABEL]: 'web' },
    hasVmi: false,
    ready: false,
    state: '',
    ...fields,
  });

const backs = (...numbers: number[]): VmView[] => numbers.map((number) => back(`web-${number}`));
const adopted = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'adopt' ? step.vms.map(({ name }) => name) : []));
const created = ({ steps }: PoolPlan): number[] =>
  steps.flatMap((step) => (step.kind === 'create' ? step.numbers : []));
const leaves = ({ steps }: PoolPlan) => steps.filter(({ kind }) => kind === 'delete' || kind === 'halt');
const kinds = ({ steps }: PoolPlan): string[] => steps.map(({ kind }) => kind);
const restoring = ({ status }: PoolPlan) => status?.conditions?.find(({ type }) => type === 'Restoring');

/** A pool that has come back from a backup this long ago (ms): the UID noted on it is that of its earlier self. */
const restored = (agoMs: number, spec = {}) =>
  aPool(spec, {
    annotations: { [UID_ANNOTATION]: 'old-uid' },
    creationTimestamp: new Date(quiet.now - agoMs).toISOString(),
  });

test("VMs that have come back without their owner become the pool's own again, and none is made in their places", () => {
  const found = plan({ uncontrolled: backs(1, 2, 3) });
  expect(adopted(found)).toEqual(['web-1', 'web-2', 'web-3']);
  expect(created(found)).toEqual([]);
  expect(kinds(found)).not.toContain('removeLabels');
});

test('the revision of a VM that is being adopted is not forgotten', () => {
  const revisions = ['old', 'older'].map((revision, number) => ({
    name: `web-${revision}`,
    revision,
    number,
    template: null,
  }));
  const { steps } = plan({
    pool: aPool({ replicas: 2, revisionHistoryLimit: 0 }),
    vms: [aVm('web-1')],
    uncontrolled: [back('web-2', { revision: 'old' })],
    inProgress: { ...quiet.inProgress, creating: ['web-2'] },
    revisions: [...revisions, { name: `web-${REVISION}`, revision: REVISION, number: 2, template: null }],
  });
  expect(steps).toMatchObject([{ kind: 'deleteRevisions', revisions: ['web-older'] }]);
});

test('VMs that did not come back are made under their own numbers', () => {
  expect(created(plan({ uncontrolled: backs(1, 3) }))).toEqual([2]);
});

test('as many VMs come back as are missing: the others are left, and no VM leaves for them', () => {
  const vms = [aVm('web-1'), aVm('web-9')];
  const found = plan({ vms, uncontrolled: backs(2, 3, 4) });
  expect(adopted(found)).toEqual(['web-2']);
  expect(kinds(found).filter((kind) => ['create', 'delete', 'halt', 'removeLabels'].includes(kind))).toEqual([]);
  expect(restoring(found)).toMatchObject({ status: 'True', reason: 'MoreThanWanted' });
  expect(restoring(found)?.message).toContain('web-3, web-4 came back');
});

test('a VM that its pool owns gets a new record if the record is older than the VM, or of another pool', () => {
  const vms = [
    aVm('web-1', { memberOf: 'pool-uid' }),
    aVm('web-2', { memberOf: 'pool-uid', madeAgain: true }),
    aVm('web-3', { memberOf: 'old-uid' }),
  ];
  expect(plan({ vms }).steps.filter(({ kind }) => kind === 'addLabels')).toMatchObject([
    { vms: [{ name: 'web-2' }, { name: 'web-3' }] },
  ]);
});

test('a VM that was made again from a copy is back, also while its pool lives; a VM that was taken out by hand is not', () => {
  const again = back('web-2', { memberOf: 'pool-uid', madeAgain: true });
  const left = back('web-3', { memberOf: 'pool-uid' });
  const found = plan({ vms: [aVm('web-1')], uncontrolled: [again, left] });
  expect(adopted(found)).toEqual(['web-2']);
  expect(found.steps).toContainEqual(
    expect.objectContaining({ kind: 'removeLabels', vms: [expect.objectContaining({ name: 'web-3' })] }),
  );
  expect(created(found)).toEqual([4]);
});

test.each<[string, Partial<VmView>]>([
  ['has no record', { memberOf: null }],
  ['has the label of another pool', { ownLabels: { [POOL_LABEL]: 'db' } }],
  ['has a controller', { owner: { kind: 'VirtualMachineReplicaSet', name: 'x', uid: 'x' } }],
  ['is a KubeVirt pool’s', { ownLabels: { [POOL_LABEL]: 'web', [KUBEVIRT_REVISION_LABEL]: 'x' } }],
  ['is being deleted', { deleting: true }],
])('a VM that %s is not taken back', (_, fields) => {
  expect(adopted(plan({ uncontrolled: [back('web-1', fields)] }))).toEqual([]);
});

test('a VM with a name that the pool does not give is not taken back', () => {
  expect(adopted(plan({ uncontrolled: [back('web-1-copy'), back('other')] }))).toEqual([]);
});

test('a pool takes no VM back while a command changes its members, or while it is being deleted', () => {
  const change = { kind: 'takeover', by: 'ada', at: '2026-01-02T03:04:05Z' } as const;
  const held = aPool({}, { annotations: changeAnnotation(change) });
  const deleted = aPool({}, { deletionTimestamp: '2026-01-02T03:04:05Z' });
  for (const pool of [held, deleted]) expect(adopted(plan({ pool, uncontrolled: backs(1) }))).toEqual([]);
});

test('an extra VM comes back as a replica, and a standby VM as one while standby VMs are missing', () => {
  const pool = aPool({ replicas: 2, standby: { replicas: 1 } });
  const standby = (name: string): VmView => back(name, { role: 'Standby' });
  const uncontrolled = [back('web-7', { role: 'Surge' }), standby('web-3'), standby('web-4'), standby('web-5')];
  const steps = plan({ pool, uncontrolled }).steps.filter((step) => step.kind === 'adopt');
  expect(steps.map(({ role, vms }) => [role, vms.map(({ name }) => name)])).toEqual([
    [undefined, ['web-7', 'web-4']],
    ['Standby', ['web-3']],
  ]);
});

test('a restored pool waits for its VMs: it makes none, and says until when', () => {
  const pool = restored(30_000);
  const found = plan({ pool, uncontrolled: backs(2) });
  expect(adopted(found)).toEqual(['web-2']);
  expect(created(found)).toEqual([]);
  expect(restoring(found)).toMatchObject({ status: 'True', reason: 'WaitingForMembers' });
  expect(found.requeueAt).toBe(quiet.now - 30_000 + RESTORE_QUIET_MS);
  // The last that came sets the time anew.
  const later = plan({ pool, uncontrolled: [back('web-2', { createdAt: quiet.now - 1_000 })] });
  expect(later.requeueAt).toBe(quiet.now - 1_000 + RESTORE_QUIET_MS);
});

test('the pool continues once its VMs are complete, or none has come for a while: then it makes what is missing', () => {
  const vms = [aVm('web-1'), aVm('web-2'), aVm('web-3')];
  expect(kinds(plan({ pool: restored(1_000), vms }))).toContain('recordUid');
  const ended = plan({ pool: restored(RESTORE_QUIET_MS), vms: vms.slice(1) });
  expect(kinds(ended)).toContain('recordUid');
  expect(created(ended)).toEqual([]);
  const noted = aPool({}, { annotations: { [UID_ANNOTATION]: 'pool-uid' } });
  const after = plan({ pool: noted, vms: vms.slice(1) });
  expect(created(after)).toEqual([1]);
  expect(kinds(after)).not.toContain('recordUid');
});

test('a pool never has or makes more VMs than it wants, whatever comes back, and no VM leaves for one that returns', () => {
  const anyReturn = fc.record({
    some: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 12 }),
    replicas: fc.nat(20),
    memberOf: fc.constantFrom('old-uid', 'pool-uid', null),
    madeAgain: fc.boolean(),
    waits: fc.boolean(),
  });
  fc.assert(
    fc.property(anyFleet, anyReturn, (fleet, { some, replicas, memberOf, madeAgain, waits }) => {
      const vms = fleet.filter(({ deleting, removing }) => !deleting && !removing);
      const uncontrolled = some
        .map((number) => back(`web-${number}`, { memberOf, madeAgain }))
        .filter(({ name }) => !vms.some((vm) => vm.name === name));
      const pool = waits ? restored(0, { replicas }) : aPool({ replicas });
      const found = plan({ pool, vms, uncontrolled });
      const comes = adopted(found).length + created(found).length;
      expect(vms.length + comes).toBeLessThanOrEqual(Math.max(vms.length, replicas));
      const without = plan({ pool, vms });
      expect(leaves(found)).toEqual(leaves(without));
      if (waits) expect(created(found)).toEqual([]);
    }),
  );
});

test('a VM that its pool owns and whose record names another VM gets its own record', () => {
  const vms = [aVm('web-1', { memberOf: 'old-uid' }), aVm('web-2', { memberOf: 'pool-uid' }), aVm('web-3')];
  const labelled = plan({ vms }).steps.flatMap((step) => (step.kind === 'addLabels' ? step.vms : []));
  expect(labelled.map(({ name }) => name)).toEqual(['web-1']);
});

test('a revision label does not say which pool a VM belongs to', () => {
  const vm = back('web-1', { memberOf: null, ownLabels: { [POOL_LABEL]: 'web', [REVISION_LABEL]: 'x' } });
  expect(kinds(plan({ uncontrolled: [vm] }))).toContain('removeLabels');
});

test("a clone's record is that of another VM, and says nothing about the clone", () => {
  const annotations = memberOfAnnotation('pool-uid', 'web-1', 0);
  expect(memberOf({ name: 'web-1', annotations })?.uid).toBe('pool-uid');
  expect(memberOf({ name: 'web-7', annotations })).toBeNull();
});
