import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../api/pool/status.ts';
import { Fleet } from '../../../clients/dashboard/fleet/fleet.ts';
import { CORDON_TAINT } from '../../../decisions/views/drained-node.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVmi, BY_USER, IO_ERROR } from '../../decisions/fixtures/fleets.ts';
import { add, aMember, aPoolWith } from './objects.ts';
import { Viewer } from './viewer.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number): string => new Date(START + minutes * MINUTE).toISOString();
const POOL = 'VirtualMachinePool';

/** A fleet whose clock a test turns, and what needs a person in it. */
class Watched {
  now = START;
  readonly fleet = new Fleet({ whyNot: () => null, now: () => this.now });
  readonly #viewer = new Viewer();

  after(minutes: number) {
    this.now = START + minutes * MINUTE;
    this.fleet.tick();
    return this.#viewer.delta(this.fleet.collect()).needs.items;
  }
}

function withVm(vm: Partial<VmView>, vmi: Partial<VmiView> = {}, pool: Parameters<typeof aPoolWith>[0] = {}): Watched {
  const watched = new Watched();
  watched.fleet.setOwner(POOL, undefined, aPoolWith(pool));
  add(watched.fleet, aMember('web-1', { notReadySince: vm.ready === false ? START : null, ...vm }), vmi);
  return watched;
}

const down = { ready: false, state: 'Starting' } as const;

describe('a VM that is in a state for longer than it should', () => {
  test.each([
    ['Pending', null, 'its VMI has no pod yet (Pending): why'],
    ['Scheduling', null, 'its pod does not run yet (Scheduling): why'],
    ['Scheduled', 'n1', 'its pod runs, and KubeVirt has not started its guest yet (Scheduled on n1): why'],
  ])('needs a person after five minutes in %s, with what it waits for', (phase, node, waits) => {
    const watched = withVm(down, { ready: false, phase, node, whyNotReady: 'why' });
    expect(watched.after(4.9)).toEqual([]);
    expect(watched.after(5)).toMatchObject([
      {
        kind: 'late',
        vm: 'web-1',
        since: at(0),
        sentence: `VM web-1 of web has not come up: ${waits}`,
        command: 'drover status pool web -n default',
      },
    ]);
  });

  test('is told with others of its state, by what the oldest waits for', () => {
    const watched = withVm(down, { ready: false, phase: 'Scheduling' });
    add(watched.fleet, aMember('web-2', { ...down, notReadySince: START + MINUTE }), {
      ready: false,
      phase: 'Pending',
    });
    expect(watched.after(7)).toMatchObject([
      {
        vm: null,
        since: at(0),
        sentence: expect.stringMatching(/^2 VMs of web have not come up \(web-1, web-2\): .*Scheduling/),
      },
    ]);
  });

  test('is not told of again beside that its pool names it as one that cannot start', () => {
    const failed = {
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedStart',
      message: '1 VM cannot start; web-1',
    };
    const vm = { ...down, state: 'ErrorUnschedulable' };
    const vmi = { ready: false, phase: 'Scheduling' };
    const conditions = [failed as Condition];
    expect(withVm(vm, vmi).after(6)).toMatchObject([{ vm: 'web-1' }]);
    expect(withVm(vm, vmi, { status: { conditions } }).after(6)).toMatchObject([{ kind: 'owner.failing' }]);
    // What is late for another reason is another matter.
    expect(withVm(down, vmi, { status: { conditions } }).after(6)).toMatchObject([
      { kind: 'owner.failing' },
      { kind: 'late', vm: 'web-1' },
    ]);
  });

  test('is down with its node as long as that does not answer, whatever KubeVirt says of its guest', () => {
    const vm = { ready: false, state: 'Running' } as const;
    const watched = withVm(vm, { ready: false, phase: 'Running', node: 'n1', whyNotReady: 'why' });
    const node = { name: 'n1', zone: null, schedulable: false, machineTypes: [], drainedSince: null };
    watched.fleet.setNode('n1', { ...node, ready: false });
    expect(watched.after(5)).toMatchObject([
      { vm: 'web-1', since: at(0), sentence: 'VM web-1 of web is down: its node n1 does not answer: why' },
    ]);
    watched.fleet.setNode('n1', { ...node, ready: true });
    expect(watched.after(6)).toMatchObject([
      { sentence: 'VM web-1 of web is down: its guest runs, and is not ready (Running on n1): why' },
    ]);
  });

  test('is told of no longer once it is well', () => {
    const watched = withVm(down, { ready: false, phase: 'Scheduling' });
    expect(watched.after(5)).toHaveLength(1);
    add(watched.fleet, aMember('web-1'));
    expect(watched.after(5)).toEqual([]);
  });

  const cycle = {
    vm: 'web-1',
    uid: 'x',
    attempt: 4,
    phase: 'Waiting',
    message: 'it never ran',
    startedAt: at(0),
  } as const;
  const healed = (status: object = {}) => ({
    spec: { autohealing: {}, maxUnavailable: 1 },
    status: { healing: { cycles: [cycle], finished: [] }, ...status },
  });

  test('needs a person while healing replaces it again and again, and says who waits for its budget', () => {
    const watched = withVm(down, { ready: false, phase: 'Scheduling' }, healed());
    expect(watched.after(9)).toEqual([]);
    expect(watched.after(10)).toMatchObject([
      {
        kind: 'late',
        vm: 'web-1',
        since: at(0),
        sentence: 'VM web-1 of web is not healed: replacement 4, Waiting: it never ran',
        action: { name: 'heal.now', whyNot: null },
      },
    ]);
    const [need] = withVm(down, {}, healed({ budgetFullSince: at(8) })).after(10);
    expect(need!.sentence).toContain('; web waits for its disruption budget meanwhile');
  });

  test('is told of while healing has deleted it, and is to make it again', () => {
    const watched = new Watched();
    watched.fleet.setOwner(POOL, undefined, aPoolWith(healed()));
    expect(watched.after(9)).toEqual([]);
    expect(watched.after(10)).toMatchObject([{ kind: 'late', vm: 'web-1' }]);
  });

  test('is not one that has been ready until its guest began to stop, however old it is, but one that stops for long', () => {
    const stopping = { deleting: true, deletingSince: START + 59 * MINUTE, graceMs: 3 * MINUTE };
    for (const [vm, minutes] of [
      [{ createdAt: START }, 5],
      [{ createdAt: START, changingState: true }, 10],
    ] as const) {
      const watched = withVm(vm, stopping);
      expect(watched.after(59 + minutes + 2.9)).toEqual([]);
      expect(watched.after(59 + minutes + 3)).toMatchObject([
        { since: at(59), sentence: expect.stringContaining('the guest is shutting down') },
      ]);
    }
  });

  test('is one that something holds while it is deleted, beyond the grace of its guest', () => {
    const watched = withVm(
      { deleting: true, leavingSince: START, blockedBy: 'example.com/backup' },
      { graceMs: 3 * MINUTE },
    );
    expect(watched.after(7.9)).toEqual([]);
    expect(watched.after(8)).toMatchObject([
      { sentence: 'VM web-1 of web has not gone: held by the finalizer example.com/backup' },
    ]);
  });

  test('is one whose migration does not end', () => {
    const watched = withVm({});
    const migration = { namespace: 'default', name: 'm', vmiName: 'web-1', phase: 'Pending', createdAt: START };
    watched.fleet.setMigration('default/m', undefined, migration);
    expect(watched.after(29)).toEqual([]);
    expect(watched.after(30)).toMatchObject([{ sentence: 'VM web-1 of web has not moved: migration m is Pending' }]);
  });

  test('is one that an I/O error has paused, at once, and not one that a user has', () => {
    expect(withVm({ ready: false }, { pause: BY_USER }).after(60)).toEqual([]);
    expect(withVm({ ready: false }, { pause: IO_ERROR, whyNotReady: 'PausedIOError' }).after(0)).toMatchObject([
      { sentence: 'VM web-1 of web is paused: something else than a user has paused its guest: PausedIOError' },
    ]);
  });

  test('is one of no pool as well', () => {
    const watched = new Watched();
    const db = aMember('db', { ...down, owner: null, revision: null, notReadySince: START });
    add(watched.fleet, db, { ready: false, phase: 'Scheduling' });
    expect(watched.after(5)).toMatchObject([
      {
        about: { kind: 'Namespace', namespace: 'default' },
        sentence: expect.stringContaining('VM db has not come up'),
        command: 'kubectl describe vm db -n default',
      },
    ]);
  });

  test('is not told of again beside that it has ended its rollout, and else fails at once if the rollout counts it', () => {
    const failed = { vm: 'web-1', message: 'no node fits', at: at(0) };
    const waiting = { ...down, changingState: true };
    const halted = { kind: 'Failed', by: 'drover', at: at(0), reason: 'web-1: no node fits' } as const;
    const pool = { rollout: { failures: [failed], halted }, status: {} };
    const vmi = { ready: false, phase: 'Scheduling' };
    expect(withVm(waiting, vmi, pool).after(1)).toEqual([]);
    expect(withVm(waiting, vmi, { rollout: { failures: [failed] } }).after(1)).toMatchObject([
      { kind: 'vms-failing', vm: 'web-1' },
    ]);
  });

  test('is not told of again beside that it was given up, or that healing stands still', () => {
    const finished = [
      { vm: 'web-1', uid: 'x', attempts: 3, end: 'GivenUp', message: 'it never ran', at: at(0) },
    ] as const;
    const given = { spec: { autohealing: {} }, status: { healing: { cycles: [], finished: [...finished] } } };
    const crashing = { ready: false, state: 'CrashLoopBackOff', startFailures: 3 };
    expect(withVm(crashing, {}, given).after(60)).toMatchObject([
      { kind: 'vm.givenup', action: { name: 'heal.now', whyNot: null } },
    ]);
    const paused = { paused: { by: 'ada', at: at(0) }, cycles: [cycle], finished: [] };
    const held = withVm(crashing, {}, { spec: { autohealing: {} }, status: { healing: paused } }).after(60);
    expect(held).toMatchObject([{ kind: 'healing.suspended' }]);
  });
});

test('VMs that stay on a drained node for as long as pools may take are told of, since the taint was added', () => {
  const watched = withVm({});
  watched.fleet.setVmi('default/web-1', undefined, aVmi(aMember('web-1'), { node: 'n1', evacuationNode: 'n1' }));
  const node = { name: 'n1', zone: null, ready: true, schedulable: false, taints: [CORDON_TAINT], machineTypes: [] };
  watched.fleet.setNode('n1', { ...node, drainedSince: START });
  expect(watched.after(29)).toEqual([]);
  expect(watched.after(30)).toMatchObject([
    {
      kind: 'drain.stuck',
      since: at(0),
      about: { kind: 'Node', name: 'n1' },
      sentence: '1 VM has not left node n1, which is drained: 0 migrating, 1 asked to leave',
      command: 'drover drain status n1',
    },
  ]);
  watched.fleet.setNode('n1', { ...node, taints: [], schedulable: true, drainedSince: null });
  expect(watched.after(30)).toEqual([]);
});

const metadata = { namespace: 'default', name: 'nightly', uid: 'o', resourceVersion: '1', creationTimestamp: at(0) };
const operation = (status?: object): StoredOperation =>
  ({
    kind: 'VirtualMachineOperation',
    metadata,
    spec: { action: 'Restart', vms: {} },
    status,
  }) as unknown as StoredOperation;

test('an operation that no worker looks at, or that does nothing because all its VMs must wait, is told of', () => {
  const watched = new Watched();
  watched.fleet.setOperation('default/nightly', operation());
  expect(watched.after(0.4)).toEqual([]);
  expect(watched.after(0.5)).toMatchObject([
    { kind: 'no-worker', sentence: expect.stringContaining('no worker has looked at operation nightly') },
  ]);
  const vms = { chosen: 3, done: 0, failed: 0, inProgress: 0, open: 2, excluded: 1 };
  const conditions = [{ type: 'Progressing', status: 'True', reason: 'Restarting', message: '' }];
  const waits = [
    { message: 'a snapshot is being made of them', vms: 2, names: ['db-1', 'db-2'] },
    { message: 'its owner opted out', vms: 1, names: ['db-3'], excluded: true },
  ];
  watched.fleet.setOperation('default/nightly', operation({ conditions, vms, waits }));
  expect(watched.after(9)).toEqual([]);
  expect(watched.after(10)).toMatchObject([
    {
      kind: 'late',
      sentence: 'operation nightly does nothing: 2 VMs (db-1, db-2): a snapshot is being made of them',
      command: 'drover operations describe nightly -n default',
    },
  ]);
  const full = [...waits.slice(1), { message: '1 at once' }];
  watched.fleet.setOperation('default/nightly', operation({ conditions, vms, waits: full }));
  expect(watched.after(60)).toEqual([]);
});

test('a schedule that is due, and whose operation no worker makes, is told of', () => {
  const watched = new Watched();
  const spec = { schedule: '* * * * *', operationTemplate: { spec: { action: 'Restart', vms: {} } } };
  const status = { nextScheduleTime: at(5), conditions: [{ type: 'Ready', status: 'True', reason: 'Scheduled' }] };
  const schedule = { metadata, spec, status } as unknown as StoredSchedule;
  watched.fleet.setSchedule('default/nightly', schedule);
  expect(watched.after(5.9)).toEqual([]);
  expect(watched.after(6)).toMatchObject([{ kind: 'no-worker', since: at(5) }]);
  watched.fleet.setSchedule('default/nightly', { ...schedule, spec: { ...schedule.spec, suspend: true } });
  expect(watched.after(60)).toEqual([]);
});
