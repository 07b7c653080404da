import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ORPHAN_FINALIZER, REPLICA_SET_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { ReplicaSetSpec } from '../../../api/replica-set/replica-set.ts';
import type { Backoffs, FailureReason } from '../../../decisions/owners/failures.ts';
import { containedReplicaSetPlan } from '../../../decisions/replica-sets/contained-plan.ts';
import type { ReplicaSetInput } from '../../../decisions/replica-sets/plan-input.ts';
import { planReplicaSet } from '../../../decisions/replica-sets/plan.ts';
import type { StoredReplicaSet } from '../../../decisions/views/owner.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aFailure, backoffFor } from '../fixtures/backoffs.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aMember, aSet, still } from './sets.ts';
import { conditionOf, deleted, made, namesIn, namesOf } from './steps.ts';

const [A, B, C, D] = namesOf(4) as [string, string, string, string];

const planOf = (set: StoredReplicaSet, vms: VmView[], input: Partial<ReplicaSetInput> = {}) =>
  planReplicaSet({ ...still, vmiOf: (vm) => aVmi(vm), ...input, set, vms });
const plan = (spec: Partial<ReplicaSetSpec>, vms: VmView[], input: Partial<ReplicaSetInput> = {}) =>
  planOf(aSet(spec), vms, input);
const going = (finalizers: string[]) => aSet({}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers });

describe('scale-out', () => {
  test('makes VMs for the places that nothing holds', () => {
    expect(made(plan({ replicas: 3 }, []).steps)).toEqual([A, B, C]);
    expect(made(plan({ replicas: 3 }, [aMember(A)]).steps)).toEqual([B, C]);
    expect(made(plan({ replicas: 3 }, [aMember(B)]).steps)).toEqual([A, C]);
    expect(plan({ replicas: 1 }, [aMember(A)]).steps).toEqual([]);
  });

  test('does not replace a VM that is being deleted, or is on a node that does not answer', () => {
    expect(made(plan({ replicas: 3 }, [aMember(A), aMember(B), aMember(C, { deleting: true })]).steps)).toEqual([]);
    const lost = aMember(C, { ready: false, state: 'Unknown' });
    expect(
      plan({ replicas: 3 }, [aMember(A), aMember(B), lost], { vmiOf: (vm) => ({ ...aVmi(vm), nodeLost: true }) }).steps,
    ).toEqual([]);
  });

  test('does not replace a VM that a user has stopped', () => {
    const stopped = aMember(A, { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' });
    expect(plan({ replicas: 1 }, [stopped], { vmiOf: () => undefined }).steps).toEqual([]);
  });

  test('makes as many VMs at once as the burst cap and a failure leave', () => {
    expect(made(plan({ replicas: 99 }, [], { burst: 2 }).steps)).toEqual([A, B]);
    expect(made(plan({ replicas: 99 }, [], { backoffs: backoffFor('FailedCreate', { allowance: 1 }) }).steps)).toEqual([
      A,
    ]);
    expect(made(plan({ replicas: 99 }, [], { backoffs: backoffFor('FailedCreate', { allowance: 0 }) }).steps)).toEqual(
      [],
    );
    const inProgress = { creating: [A], deleting: [] };
    expect(made(plan({ replicas: 99 }, [], { burst: 2, inProgress }).steps)).toEqual([B]);
  });

  test('uses no name that a VM of another owner holds', () => {
    expect(made(plan({ replicas: 2 }, [], { isVmNameTaken: (name) => name === A }).steps)).toEqual([B, C]);
  });

  test('tries first the names of VMs that may have been made, which hold places', () => {
    const uncertain = [C];
    expect(made(plan({ replicas: 2 }, [], { uncertain }).steps)).toEqual([C, A]);
    expect(made(plan({ replicas: 2 }, [], { uncertain: [A] }).steps)).toEqual([A, B]);
    expect(made(plan({ replicas: 2 }, [aMember(A)], { uncertain }).steps)).toEqual([C]);
    expect(made(plan({ replicas: 1 }, [aMember(A)], { uncertain }).steps)).toEqual([]);
    expect(
      made(plan({ replicas: 2 }, [], { uncertain, backoffs: backoffFor('FailedCreate', { allowance: 1 }) }).steps),
    ).toEqual([C]);
    // An operation works on it, and another may work beside it.
    expect(made(plan({ replicas: 2 }, [], { uncertain, inProgress: { creating: [C], deleting: [] } }).steps)).toEqual([
      A,
    ]);
  });

  test('skips a refused name while that waits; others proceed, and do not take its place', () => {
    const backoffs = backoffFor('FailedCreate', { refused: { names: [A], isDelayed: true } });
    const over = backoffFor('FailedCreate', { refused: { names: [A], isDelayed: false } });
    expect(made(plan({ replicas: 3 }, [], { backoffs }).steps)).toEqual([B, C]);
    expect(made(plan({ replicas: 3 }, [aMember(B), aMember(C)], { backoffs }).steps)).toEqual([]);
    expect(made(plan({ replicas: 3 }, [], { backoffs: over }).steps)).toEqual([B, C, A]);
    expect(made(plan({ replicas: 1 }, [], { backoffs, uncertain: [A] }).steps)).toEqual([]);
  });

  test('treats a name as uncertain until a VM has it', () => {
    expect(plan({ replicas: 3 }, [aMember(A)], { uncertain: [A, B] }).uncertain).toEqual([B]);
    expect(plan({ replicas: 3 }, [], { uncertain: [A], isVmNameTaken: (name) => name === A }).uncertain).toEqual([]);
  });
});

/** Each VM with a VMI like this. */
const withVmis = (fields: Partial<VmiView>) => ({ vmiOf: (vm: VmView): VmiView => aVmi(vm, fields) });
const migrating = (vm: VmView): VmiView => ({
  ...aVmi(vm),
  migration: vm.name === 'migrates' ? { name: 'm', phase: 'Running', createdAt: 0 } : null,
  nodeDrained: vm.name === 'drained',
});

describe('scale-in', () => {
  test('takes VMs that are not ready before those that migrate or are drained, then ready ones, and then the newest', () => {
    const vms = [
      aMember('old', { createdAt: 1 }),
      aMember('new', { createdAt: 3 }),
      aMember('mid', { createdAt: 2 }),
      aMember('migrates', { createdAt: 1 }),
      aMember('drained', { createdAt: 0 }),
      aMember('starts', { createdAt: 2, ready: false }),
      aMember('fails', { createdAt: 1, ready: false, startFailures: 2 }),
    ];
    const order = ['fails', 'starts', 'migrates', 'drained', 'new', 'mid', 'old'];
    for (let left = 0; left <= vms.length; left++)
      expect(deleted(plan({ replicas: left }, vms, { vmiOf: migrating }).steps)).toEqual(order.slice(0, 7 - left));
  });

  test('deletes VMs with their disks, for whatever reason they leave', () => {
    const ended = aMember(A, { runStrategy: 'Once', ready: false });
    for (const { steps } of [
      plan({ replicas: 0 }, [aMember(A)]),
      plan({ replicas: 1 }, [ended], { vmiOf: (vm) => aVmi(vm, { phase: 'Succeeded' }) }),
      planOf(going([REPLICA_SET_FINALIZER]), [aMember(A)]),
    ])
      expect(steps).toMatchObject([{ kind: 'delete', keepDisks: false, vms: [{ name: A }] }]);
  });

  test('skips a VM whose deletion was refused, while that waits', () => {
    const vms = [aMember(A, { createdAt: 2 }), aMember(B, { createdAt: 1 })];
    const held = (reason: FailureReason): Backoffs => backoffFor(reason, { refused: { names: [A], isDelayed: true } });
    const backoffs = held('FailedDelete');
    const over = backoffFor('FailedDelete', { refused: { names: [A], isDelayed: false } });
    expect(deleted(plan({ replicas: 1 }, vms, { backoffs }).steps)).toEqual([]);
    expect(deleted(plan({ replicas: 0 }, vms, { backoffs }).steps)).toEqual([B]);
    expect(deleted(plan({ replicas: 1 }, vms, { backoffs: over }).steps)).toEqual([A]);
    const unmatched = [aMember(A, { ownLabels: {} })];
    const released = plan({ replicas: 1 }, unmatched, { backoffs: held('FailedRelease') }).steps;
    expect(released.map(({ kind }) => kind)).not.toContain('release');
    const uncontrolled = [aMember(A, { owner: null })];
    expect(plan({ replicas: 1 }, [], { backoffs: held('FailedAdopt'), uncontrolled }).steps).toEqual([]);
  });

  test('takes no more VMs than the surplus, counting those that are already leaving', () => {
    const vms = [A, B, C, D].map((name) => aMember(name));
    const inProgress = { creating: [], deleting: [D] };
    expect(deleted(plan({ replicas: 3 }, vms, { inProgress }).steps)).toEqual([]);
    expect(deleted(plan({ replicas: 3 }, [...vms.slice(0, 3), aMember(D, { deleting: true })]).steps)).toEqual([]);
    expect(deleted(plan({ replicas: 0 }, vms, { burst: 3 }).steps)).toHaveLength(3);
  });

  test.each(['Once', 'RerunOnFailure'])(
    'takes VMs that have run to their end, under %s, which hold their places until they are gone',
    (runStrategy) => {
      const ended = aMember(A, { runStrategy, ready: false });
      const vmiOf = (vm: VmView): VmiView => (vm.name === A ? aVmi(vm, { phase: 'Succeeded' }) : aVmi(vm));
      const planned = plan({ replicas: 2 }, [ended, aMember(B)], { vmiOf });
      expect(planned.steps).toMatchObject([{ kind: 'delete', because: 'Ended', vms: [{ name: A }] }]);
      expect(planned.status?.replicas).toBe(1);
      expect(plan({ replicas: 2 }, [{ ...ended, deleting: true }, aMember(B)], { vmiOf }).steps).toEqual([]);
    },
  );

  test('leaves a VM that KubeVirt calls failed because its node does not answer: its guest may still run', () => {
    const once = aMember(A, { runStrategy: 'Once', ready: false });
    const lost = plan({ replicas: 1 }, [once], withVmis({ phase: 'Failed', nodeLost: true }));
    expect(lost.steps).toEqual([]);
    expect(lost.status?.replicas).toBe(1);
    expect(conditionOf(lost.status, 'Progressing')?.message).toBe(
      `1 of 1 VMs exist; on nodes that do not answer, and in their places until they are deleted or the nodes are back: ${A}`,
    );
    expect(deleted(plan({ replicas: 1 }, [once], withVmis({ phase: 'Failed' })).steps)).toEqual([A]);
  });

  test('takes a VM that its node had reported as succeeded, whatever became of the node since', () => {
    const vms = [aMember(A, { runStrategy: 'Once', ready: false })];
    const { steps } = plan({ replicas: 1 }, vms, withVmis({ phase: 'Succeeded', nodeLost: true }));
    expect(deleted(steps)).toEqual([A]);
  });

  test.each(['Always', 'Manual', 'Halted'])(
    'leaves VMs of which a VMI has ended under %s: KubeVirt or a user may start them',
    (runStrategy) => {
      const vms = [aMember(A, { runStrategy, ready: false })];
      expect(plan({ replicas: 1 }, vms, { vmiOf: (vm) => aVmi(vm, { phase: 'Failed' }) }).steps).toEqual([]);
    },
  );
});

describe('the selector of a set', () => {
  const stranger = aMember('else', { owner: null });

  test('adopts a matching VM without a controller, which holds a place from the start', () => {
    const { steps } = plan({ replicas: 2 }, [aMember(A)], { uncontrolled: [stranger] });
    expect(steps).toMatchObject([{ kind: 'adopt', vms: [{ name: 'else' }] }]);
  });

  test('leaves alone a VM that does not match, or is being deleted', () => {
    const uncontrolled = [
      { ...stranger, ownLabels: {} },
      { ...stranger, name: 'going', deleting: true },
    ];
    expect(plan({ replicas: 1 }, [aMember(A)], { uncontrolled }).steps).toEqual([]);
  });

  test('releases a VM that no longer matches, and replaces it once it is released', () => {
    const vms = [aMember(A, { ownLabels: { app: 'other' } }), aMember(B)];
    const { steps, status } = plan({ replicas: 2 }, vms);
    expect(steps).toMatchObject([{ kind: 'release', because: 'Unmatched', vms: [{ name: A }] }]);
    expect(status?.replicas).toBe(1);
    const released = { ...vms[0]!, owner: null };
    const after = plan({ replicas: 2 }, [vms[1]!], { uncontrolled: [released], isVmNameTaken: (name) => name === A });
    expect(after.steps).toMatchObject([{ kind: 'createReplicas', names: [C] }]);
  });

  test('selects by the labels of the VM itself, not by those of its VMI template', () => {
    const vm = aMember(A, { ownLabels: {}, labels: { app: 'web' } });
    expect(namesIn(plan({ replicas: 1 }, [vm]).steps, 'release')).toEqual([A]);
  });
});

test('releases and adopts in a paused set too, which makes and deletes nothing', () => {
  const vms = [aMember(A), aMember(B, { ownLabels: {} })];
  const { steps, status, phase } = plan({ replicas: 9, paused: true }, vms, {
    uncontrolled: [aMember('else', { owner: null })],
  });
  expect(steps.map(({ kind }) => kind)).toEqual(['release', 'adopt']);
  expect(phase).toBe('Paused');
  expect(conditionOf(status, 'Paused')).toMatchObject({ status: 'True', reason: 'PausedBySpec' });
  expect(plan({ replicas: 0, paused: true }, [aMember(A)]).steps).toEqual([]);
});

test('the burst cap limits how many members leave or come at once, however they do', () => {
  const kindsOf = fc.constantFrom('unmatched', 'orphan', 'ended', 'active');
  const input = fc.record({
    members: fc.array(kindsOf, { maxLength: 30 }),
    replicas: fc.nat(30),
    burst: fc.integer({ min: 1, max: 8 }),
    busy: fc.nat(8),
  });
  fc.assert(
    fc.property(input, ({ members, replicas, burst, busy }) => {
      const vms = members.map((kind, index) =>
        aMember(`${kind}-${index}`, {
          ...(kind === 'unmatched' ? { ownLabels: {} } : {}),
          ...(kind === 'orphan' ? { owner: null } : {}),
          ...(kind === 'ended' ? { runStrategy: 'Once', ready: false } : {}),
        }),
      );
      const busyNames = (kind: string) =>
        vms.flatMap(({ name }) => (name.startsWith(kind) ? [name] : [])).slice(0, busy);
      const inProgress = { creating: busyNames('orphan'), deleting: busyNames('unmatched') };
      const { steps } = plan(
        { replicas },
        vms.filter(({ owner }) => owner !== null),
        {
          burst,
          inProgress,
          uncontrolled: vms.filter(({ owner }) => owner === null),
          vmiOf: (vm) => aVmi(vm, vm.name.startsWith('ended') ? { phase: 'Succeeded' } : {}),
        },
      );
      const coming = [...namesIn(steps, 'adopt'), ...made(steps)];
      const leaving = [...namesIn(steps, 'release'), ...deleted(steps)];
      expect(coming.length).toBeLessThanOrEqual(Math.max(burst - inProgress.creating.length, 0));
      expect(leaving.length).toBeLessThanOrEqual(Math.max(burst - inProgress.deleting.length, 0));
      for (const names of [coming, leaving]) expect(new Set(names).size).toBe(names.length);
    }),
  );
});

test('a full quota holds up creations alone: removals and adoptions continue', () => {
  const backoffs = backoffFor('FailedCreate', { allowance: 0 });
  const vms = [A, B].map((name) => aMember(name, { ownLabels: {} }));
  const ended = aMember(C, { runStrategy: 'Once', ready: false });
  const input = { backoffs, uncontrolled: ['one', 'two'].map((name) => aMember(name, { owner: null })) };
  const { steps } = plan({ replicas: 9 }, [...vms, ended], { ...input, ...withVmis({ phase: 'Succeeded' }) });
  expect(namesIn(steps, 'release')).toEqual([A, B]);
  expect(namesIn(steps, 'adopt')).toEqual(['one', 'two']);
  expect(deleted(steps)).toEqual([C]);
  expect(made(steps)).toEqual([]);
  const { steps: end } = planOf(going([REPLICA_SET_FINALIZER]), [aMember(A), aMember(B)], input);
  expect(deleted(end)).toEqual([B, A]);
});

describe('a set that is deleted', () => {
  test('takes its VMs down first, and makes and adopts none', () => {
    const set = going([REPLICA_SET_FINALIZER]);
    const uncontrolled = [aMember('else', { owner: null })];
    expect(planOf(set, [aMember(A)], { uncontrolled }).steps).toMatchObject([
      { kind: 'delete', because: 'OwnerDeleted', vms: [{ name: A }] },
    ]);
    expect(planOf(set, [aMember(A, { deleting: true })]).steps).toEqual([]);
    expect(planOf(set, []).steps).toMatchObject([{ kind: 'removeFinalizer' }]);
  });

  test('releases its VMs if they are to stay', () => {
    const set = going([REPLICA_SET_FINALIZER, ORPHAN_FINALIZER]);
    expect(planOf(set, [aMember(A)]).steps).toMatchObject([{ kind: 'release', vms: [{ name: A }] }]);
  });

  test('needs no template for its deletion', () => {
    const set = { ...going([REPLICA_SET_FINALIZER]), spec: { ...aSet().spec, template: deep(80) } };
    const { plan: contained } = containedReplicaSetPlan({ ...still, set, vms: [aMember(A)] });
    expect(contained.steps).toMatchObject([{ kind: 'delete' }]);
  });
});

const phaseOf = (replicas: number, ...vms: VmView[]): string => plan({ replicas }, vms).phase;

test('a set scales in while it has too many VMs, or some that leave, and scales out while it has too few', () => {
  expect(phaseOf(1, aMember(A), aMember(B))).toBe('ScalingIn');
  expect(phaseOf(1, aMember(A), aMember(B, { deleting: true }))).toBe('ScalingIn');
  expect(phaseOf(2, aMember(A))).toBe('ScalingOut');
  expect(phaseOf(1, aMember(A))).toBe('Steady');
  expect(phaseOf(1, aMember(A, { ready: false }))).toBe('Starting');
});

test('a set gets its finalizer before its first VM', () => {
  expect(planOf(aSet({}, { finalizers: [] }), []).steps).toMatchObject([{ kind: 'addFinalizer' }]);
});

const stopped = (name: string) =>
  aMember(name, { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' });
/** VMs that say so have a VMI. */
const IF_ANY = { vmiOf: (vm: VmView) => (vm.hasVmi ? aVmi(vm) : undefined) };

describe('the status', () => {
  test('counts VMs that are being deleted, and reports that they hold their places', () => {
    const { status } = plan({ replicas: 2 }, [aMember(A), aMember(B, { deleting: true })]);
    expect(status).toMatchObject({ replicas: 2, readyReplicas: 1, availableReplicas: 1, labelSelector: 'app=web' });
    expect(conditionOf(status, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'ScalingOut',
      message: `1 of 2 VMs exist; ${B} being deleted, and in their places until they are gone`,
    });
    expect(conditionOf(status, 'Available')).toMatchObject({ status: 'False', reason: 'MinimumReplicasUnavailable' });
  });

  test('names the finalizer that holds a VM', () => {
    const held = aMember(B, { deleting: true, blockedBy: 'example.com/hold' });
    expect(conditionOf(plan({ replicas: 2 }, [aMember(A), held]).status, 'Progressing')).toMatchObject({
      message: `1 of 2 VMs exist; ${B} being deleted, and in their places until they are gone; ${B} held by the finalizer example.com/hold`,
    });
  });

  test.each([
    ['names the VMs that a deleted set waits for', [], `the set is being deleted, and goes after ${B}, ${A}`],
    ['says that a set goes without its VMs', ['orphan'], 'the set is being deleted, and what it owns is not'],
  ])('%s', (_, finalizers, message) => {
    const set = aSet({}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers });
    const { status } = planOf(set, [aMember(A), aMember(B, { deleting: true })]);
    expect(conditionOf(status, 'Progressing')).toMatchObject({ status: 'True', reason: 'Deleting', message });
  });

  test('counts a VM as available once it has been ready for minReadySeconds, and wakes then', () => {
    const early = plan({ replicas: 1, minReadySeconds: 10 }, [aMember(A)], { now: 4_000 });
    expect(early.status).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    expect(early.requeueAt).toBe(10_000);
    const { status } = plan({ replicas: 1, minReadySeconds: 10 }, [aMember(A)], { now: 10_000 });
    expect(status).toMatchObject({ availableReplicas: 1 });
    expect(conditionOf(status, 'Available')).toMatchObject({ status: 'True' });
  });

  test('counts no VM as available that users have stopped, and says so', () => {
    const { status, steps, phase } = plan({ replicas: 2 }, [stopped(A), stopped(B)], IF_ANY);
    expect(steps).toEqual([]);
    expect(phase).toBe('Steady');
    expect(conditionOf(status, 'Progressing')).toMatchObject({ status: 'False', reason: 'Complete' });
    expect(conditionOf(status, 'Available')).toMatchObject({
      status: 'False',
      reason: 'MinimumReplicasUnavailable',
      message: `0 of 2 VMs are available; stopped by users or their guests: ${B}, ${A}`,
    });
    const some = plan({ replicas: 2 }, [stopped(A), aMember(B)], IF_ANY).status;
    expect(conditionOf(some, 'Available')).toMatchObject({
      status: 'False',
      message: `1 of 2 VMs are available; stopped by users or their guests: ${A}`,
    });
  });

  test.each(['Halted', 'Manual'])(
    'says of VMs that are not meant to run (%s) only that they do not run',
    (runStrategy) => {
      const { template } = aSet().spec;
      const halted = { ...template, spec: { ...template.spec, runStrategy } } as ReplicaSetSpec['template'];
      const { status } = plan({ replicas: 1, template: halted }, [stopped(A)], IF_ANY);
      expect(conditionOf(status, 'Available')).toMatchObject({
        status: 'False',
        message: `0 of 1 VMs are available; not started: ${A}`,
      });
    },
  );

  test('says of a stopped VM on a node that does not answer only that it is not available: its guest may still run', () => {
    const { status } = plan({ replicas: 1 }, [stopped(A)], withVmis({ nodeLost: true }));
    expect(conditionOf(status, 'Available')?.message).toBe(`0 of 1 VMs are available; not available: ${A}`);
  });

  test('reports a set as available that has as many VMs as it wants, whatever else it has', () => {
    const { status } = plan({ replicas: 1 }, [aMember(A), aMember(B, { ready: false }), stopped(C)], IF_ANY);
    expect(conditionOf(status, 'Available')).toMatchObject({
      status: 'True',
      message: `1 of 1 VMs are available; not available: ${B}; stopped by users or their guests: ${C}`,
    });
  });

  test.each([
    ['FailedCreate', { replicas: 2 }, [aMember(A)], [aMember(A), aMember(B)]],
    ['FailedDelete', { replicas: 1 }, [aMember(A), aMember(B)], [aMember(A)]],
    ['FailedRelease', { replicas: 1 }, [aMember(A, { ownLabels: {} })], [aMember(A)]],
  ] as const)('tells of %s until it has passed', (reason, spec, before, after) => {
    const failure = aFailure(reason, 'no permission');
    const backoffs = backoffFor(reason, { failure });
    expect(conditionOf(plan(spec, [...before], { backoffs }).status, 'ReplicaFailure')).toEqual({
      type: 'ReplicaFailure',
      status: 'True',
      reason,
      message: 'no permission',
      lastTransitionTime: failure.since,
    });
    const over = plan(spec, [...after], { backoffs });
    expect(over.failures).toEqual([]);
    expect(conditionOf(over.status, 'ReplicaFailure')).toBeUndefined();
  });

  test('is written only if it says something new, each time under the next number', () => {
    const { status } = plan({ replicas: 1 }, [aMember(A)]);
    expect(status?.writes).toBe(1);
    const told = { ...aSet({ replicas: 1 }), status: status! };
    expect(planOf(told, [aMember(A)]).status).toBeNull();
    expect(planOf(told, [aMember(A, { ready: false })]).status?.writes).toBe(2);
  });

  test('says why a template that is nested too deep is refused', () => {
    const { plan: stalled, error } = containedReplicaSetPlan({ ...still, set: aSet({ template: deep(80) }), vms: [] });
    expect(error).toBeNull();
    expect(stalled.steps).toEqual([]);
    expect(conditionOf(stalled.status, 'Stalled')).toMatchObject({ status: 'True', reason: 'InvalidTemplate' });
  });

  test('reports that a plan failed, and other sets are not affected', () => {
    const broken = {
      ...still,
      vmiOf: () => {
        throw new Error('oh');
      },
    };
    const { plan: stalled, error } = containedReplicaSetPlan({ ...broken, set: aSet(), vms: [aMember(A)] });
    expect(error?.message).toBe('oh');
    expect(conditionOf(stalled.status, 'Stalled')).toMatchObject({ reason: 'InternalError' });
  });
});

function deep(levels: number): ReplicaSetSpec['template'] {
  let value: Record<string, unknown> = {};
  for (let level = 0; level < levels; level++) value = { more: value };
  return { metadata: { labels: { app: 'web' } }, spec: { runStrategy: 'Always', template: value } };
}
