import { describe, expect, test } from 'vitest';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { progressOf, type UpdateProgress, type ProgressInput } from '../../../decisions/vm-update/progress.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aTemplate, DOWN, fresh, HALTED, held, NEW, NOW, OLD, old } from '../fixtures/rollout-pools.ts';

const progress = (
  vm: VmView | undefined,
  vmi: Partial<VmiView> | null = {},
  fields: Partial<ProgressInput> = {},
): UpdateProgress =>
  progressOf({
    item: held(old(1)),
    revision: NEW,
    vm,
    vmiOf: (one) => (vmi === null ? undefined : aVmi(one, vmi)),
    minReadyMs: 0,
    now: NOW,
    ...fields,
  });

describe('the progress of a restart', () => {
  test.each<[string, VmView | undefined, Partial<VmiView> | null, UpdateProgress]>([
    ['its VM is gone', undefined, null, { state: 'gone' }],
    ['its VM is being deleted', fresh(1, { deleting: true }), {}, { state: 'gone' }],
    ['another VM has its name', fresh(1, { uid: 'another' }), {}, { state: 'gone' }],
    ['its spec is the old one', old(1), {}, { state: 'waiting', why: 'its new spec is not written yet' }],
    [
      'its old VMI stops',
      fresh(1),
      { revision: OLD, deleting: true },
      { state: 'waiting', why: 'its VMI has not started (Running)' },
    ],
    [
      'its old VMI cannot stop',
      fresh(1),
      { revision: OLD, deleting: true, nodeLost: true },
      { state: 'waiting', why: 'its VMI has not started (Running); its node node-1 does not answer' },
    ],
    [
      'its new VMI is out of sight',
      fresh(1),
      { revision: NEW, ready: false, nodeLost: true },
      { state: 'waiting', why: 'its VMI is not ready (Running); its node node-1 does not answer' },
    ],
    [
      'its old VMI is held',
      fresh(1),
      { revision: OLD, deleting: true, phase: 'Succeeded', blockedBy: 'example.com/hold' },
      { state: 'waiting', why: 'its last VMI is held by the finalizer example.com/hold' },
    ],
    [
      'it has no VMI',
      fresh(1, { hasVmi: false, ...DOWN }),
      null,
      { state: 'waiting', why: 'its VMI has not started (Starting)' },
    ],
    [
      'KubeVirt can not make its VMI',
      fresh(1, { hasVmi: false, ...DOWN, state: 'Stopped', failure: 'a webhook denied the request' }),
      null,
      { state: 'waiting', why: 'its VMI has not started (Stopped: a webhook denied the request)' },
    ],
    [
      'its old VMI is asked to restart',
      fresh(1, { changingState: true }),
      { revision: OLD },
      { state: 'waiting', why: 'it has not restarted' },
    ],
    [
      'KubeVirt has started the old spec again',
      fresh(1),
      { revision: OLD },
      { state: 'refused', message: 'it was started with its old spec' },
    ],
    [
      'its VMI was started from its new spec, and has another label',
      fresh(1, { generation: 7 }),
      { revision: OLD, startGeneration: 7 },
      {
        state: 'failed',
        message: `its VMI was started from its spec and has the label drover.dev/revision: ${OLD}, which something else must have set`,
      },
    ],
    [
      'its VMI was started from an earlier spec',
      fresh(1, { generation: 7 }),
      { revision: null, startGeneration: 6 },
      { state: 'refused', message: 'it was started with its old spec' },
    ],
    [
      'its VMI is not ready',
      fresh(1, DOWN),
      { ready: false },
      { state: 'waiting', why: 'its VMI is not ready (Starting)' },
    ],
    [
      'its VMI says why it is not ready',
      fresh(1, DOWN),
      { ready: false, whyNotReady: 'no node fits' },
      { state: 'waiting', why: 'no node fits' },
    ],
    [
      'the VM lags behind its VMI',
      fresh(1, DOWN),
      { ready: true },
      { state: 'waiting', why: 'its VMI is not ready (Starting)' },
    ],
    ['its VMI is ready', fresh(1), {}, { state: 'well' }],
    ['its owner has stopped it meanwhile', fresh(1, HALTED), null, { state: 'well' }],
    ['its owner stops it', fresh(1, { runStrategy: 'Halted' }), { revision: OLD }, { state: 'well' }],
    ['it ran once, and has ended', fresh(1, { runStrategy: 'Once' }), { phase: 'Succeeded' }, { state: 'well' }],
    [
      'it ran once, and the new revision failed',
      fresh(1, { runStrategy: 'Once' }),
      { phase: 'Failed' },
      { state: 'waiting', why: 'its VMI has failed' },
    ],
    [
      'it ran once, and had failed before',
      fresh(1, { runStrategy: 'Once' }),
      { phase: 'Failed', revision: OLD },
      { state: 'well' },
    ],
  ])('%s', (_what, vm, vmi, expected) => {
    expect(progress(vm, vmi)).toEqual(expected);
  });

  test('a VM runs well only once it has been ready for long enough, and the progress says when', () => {
    const until = NOW + 7_000;
    const vmi = { readySince: NOW - 3_000 };
    expect(progress(fresh(1), vmi, { minReadyMs: 10_000 })).toEqual({
      state: 'waiting',
      why: 'it has not been ready for long enough',
      until,
    });
    expect(progress(fresh(1), vmi, { minReadyMs: 10_000, now: until })).toEqual({ state: 'well' });
    expect(progress(fresh(1), { readySince: null }, { minReadyMs: 10_000 })).toEqual({ state: 'well' });
  });
});

const sockets = (count: number): VmiView['cpu'] => ({ sockets: count, maxSockets: 4, current: count });

describe('the progress of a live update', () => {
  const { spec } = aTemplate({ sockets: 2 });
  const live = (vm: VmView, vmi: Partial<VmiView>): UpdateProgress =>
    progress({ ...vm, spec }, { revision: OLD, ...vmi }, { item: held(old(1), 'live') });

  test.each<[string, VmView, Partial<VmiView>, UpdateProgress]>([
    ['the VMI has it, and is to be told so', fresh(1), { cpu: sockets(2) }, { state: 'applied' }],
    ['the VMI has it, and says so', fresh(1), { cpu: sockets(2), revision: NEW }, { state: 'well' }],
    [
      'KubeVirt is at it',
      fresh(1),
      { cpu: sockets(1) },
      { state: 'waiting', why: 'KubeVirt has not asked for 2 sockets yet' },
    ],
    [
      'KubeVirt will not',
      fresh(1, { restartRequired: { since: null, message: 'too many' } }),
      { cpu: sockets(1) },
      { state: 'refused', message: 'too many' },
    ],
    ['the VMI has gone', fresh(1), { deleting: true }, { state: 'waiting', why: 'its VMI has not started (Running)' }],
  ])('%s', (_what, vm, vmi, expected) => {
    expect(live(vm, vmi)).toEqual(expected);
  });
});

test('the spec is all that counts after a write alone', () => {
  expect(progress(fresh(1, DOWN), { revision: OLD }, { item: held(old(1), 'write') })).toEqual({ state: 'well' });
  expect(progress(old(1), {}, { item: held(old(1), 'write') })).toEqual({
    state: 'waiting',
    why: 'its new spec is not written yet',
  });
});

const replaced = (vm: VmView | undefined): UpdateProgress => progress(vm, {}, { item: held(old(1), 'replace') });

describe('the progress of a replacement', () => {
  test('a replacement is complete when another VM has taken the place, and runs well', () => {
    const waiting = { state: 'waiting', why: 'the VM that takes its place is not there yet' };
    expect(replaced(undefined)).toEqual(waiting);
    expect(replaced(old(1, { deleting: true }))).toEqual(waiting);
    expect(replaced(old(1, { uid: 'another' }))).toEqual({ state: 'waiting', why: 'its new spec is not written yet' });
    expect(replaced(fresh(1, { uid: 'another', ...DOWN }))).toMatchObject({ state: 'waiting' });
    expect(replaced(fresh(1, { uid: 'another' }))).toEqual({ state: 'well' });
  });
});

test('a VMI that restarts for what it has read is new when its UID is new', () => {
  const it = held(fresh(1), 'restart', { from: NEW, vmi: 'the old one' });
  expect(progress(fresh(1), { uid: 'the old one' }, { item: it })).toEqual({
    state: 'waiting',
    why: 'it has not restarted',
  });
  expect(progress(fresh(1), { uid: 'a new one' }, { item: it })).toEqual({ state: 'well' });
});

test('a live update that waits for a migration reports what KubeVirt says about that', () => {
  const vm = fresh(1, { spec: { template: { spec: { domain: { cpu: { sockets: 2 } } } } } });
  const asked = { revision: OLD, cpu: { sockets: 2, maxSockets: 4, current: 1 } };
  const waits = (vmi: Partial<VmiView>): UpdateProgress =>
    progress(vm, { ...asked, ...vmi }, { item: held(old(1), 'live') });
  expect(waits({})).toEqual({ state: 'waiting', why: 'the VMI has 1 of 2 sockets' });
  expect(
    waits({ plugging: 'HotVCPUChange', migration: { name: 'm', phase: 'Pending', createdAt: 0, overQuota: true } }),
  ).toEqual({
    state: 'waiting',
    why: 'the VMI has 1 of 2 sockets (HotVCPUChange; its migration m is Pending; a ResourceQuota rejects its pod)',
  });
  const refused = fresh(1, { ...vm, failure: 'the webhook refuses it' });
  expect(progress(refused, asked, { item: held(old(1), 'live') })).toEqual({
    state: 'waiting',
    why: 'the VMI has 1 of 2 sockets (the webhook refuses it)',
  });
});

const tried = (
  attempt: number,
  state: NonNullable<VmiView['evacuation']>['state'],
  whyFailed: string | null = null,
) => ({
  evacuation: { attempt, state, ended: 0, failures: 0, since: null, begunAt: null, endedAt: null, whyFailed },
});

describe('the progress of a migration that gives a VMI a new pod', () => {
  const migration = { vmi: 'uid-of-vmi', attempt: 2 };
  const of = (vmi: Partial<VmiView>, vm = fresh(1)): UpdateProgress =>
    progress(
      vm,
      { uid: migration.vmi, revision: NEW, podRevision: OLD, ...vmi },
      { item: held(old(1), 'migrate', { migration }) },
    );
  test.each<[string, Partial<VmiView>, UpdateProgress]>([
    ['it is not known yet', {}, { state: 'waiting', why: 'its migration has not ended' }],
    ['only an earlier one is known', tried(1, 'Failed'), { state: 'waiting', why: 'its migration has not ended' }],
    [
      'it goes on',
      { ...tried(2, 'Unfinished'), migration: { name: 'm', phase: 'Scheduling', createdAt: 0 } },
      { state: 'waiting', why: 'its migration has not ended (Scheduling)' },
    ],
    [
      'a quota holds it up',
      { ...tried(2, 'Unfinished'), migration: { name: 'm', phase: 'Pending', createdAt: 0, overQuota: true } },
      { state: 'waiting', why: 'its migration has not ended (Pending; a ResourceQuota rejects its pod)' },
    ],
    [
      'it is over, and the VMI tells of its old pod',
      tried(2, 'Succeeded'),
      { state: 'waiting', why: 'its migration has not ended' },
    ],
    ['it has failed', tried(2, 'Failed', 'no node'), { state: 'failed', message: 'its migration has failed: no node' }],
    ['it has failed, nobody says why', tried(3, 'Failed'), { state: 'failed', message: 'its migration has failed' }],
    [
      'it has just failed, nobody says why yet',
      { evacuation: { ...tried(2, 'Failed').evacuation, endedAt: NOW - 1_000 } },
      { state: 'waiting', why: 'KubeVirt has not said yet why its migration has failed', until: NOW + 4_000 },
    ],
    ['its pod is another', { podRevision: null }, { state: 'well' }],
    ['its VMI is another', { uid: 'another' }, { state: 'well' }],
    [
      'it is not ready',
      { podRevision: null, ready: false },
      { state: 'waiting', why: 'its VMI is not ready (Running)' },
    ],
  ])('%s', (_title, vmi, expected) => {
    expect(of(vmi)).toMatchObject(expected);
  });

  test('the progress ends with its VM', () => {
    expect(of({}, fresh(1, { deleting: true }))).toEqual({ state: 'gone' });
    expect(of({}, fresh(1, HALTED))).toEqual({ state: 'well' });
  });
});
