import { describe, expect, test } from 'vitest';
import type { VmiStatus } from '../../../simulator/objects/kubevirt.ts';
import { isBackedUp } from '../../../simulator/vmi/backup.ts';
import { nextMove } from '../../../simulator/vmi/next-move.ts';
import { around, at, condition, aVmi, NOW, passed } from '../simulated.ts';

const notReady = { conditions: [condition('Ready', 'False', 'GuestNotRunning')] };
const both = ['kubevirt.io/virtualMachineControllerFinalize', 'kubevirt.io/foregroundDeleteVirtualMachine'];
const leaving = (annotations: Record<string, string> = {}) => ({
  deletionTimestamp: at(0),
  finalizers: both,
  annotations,
});
const annotated = (annotations: Record<string, string>) => ({ annotations });
const conditionsOf = ({ status }: { status?: VmiStatus }) =>
  Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status, reason }) => [
      type,
      reason === undefined ? status : `${status} ${reason}`,
    ]),
  );
const named = (backup: string) => annotated({ 'sim.drover.dev/backup': backup });
const running = {
  ...passed('Pending', 'Running'),
  conditions: [condition('Ready', 'True'), condition('LiveMigratable', 'True')],
  nodeName: 'sim-node-1',
};

describe('a VMI that comes up', () => {
  test('gets its finalizer and its first phase if nothing admitted it', () => {
    const { vmi: next } = nextMove(aVmi(undefined), around());
    expect(next.metadata.finalizers).toEqual(['kubevirt.io/foregroundDeleteVirtualMachine']);
    expect(next.status?.phase).toBe('Pending');
  });

  test('is scheduled at once if a node is available, and each phase is reported', () => {
    const { vmi: next } = nextMove(aVmi('Pending', { ...passed('Pending'), ...notReady }), around());
    expect(next.status).toMatchObject({ phase: 'Scheduled', nodeName: 'sim-node-1' });
    expect(next.metadata.labels).toEqual({ 'kubevirt.io/nodeName': 'sim-node-1' });
    expect(next.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual([
      'Pending',
      'Scheduling',
      'Scheduled',
    ]);
  });

  test('waits for a claim that is missing', () => {
    const pending = aVmi('Pending', notReady);
    const { vmi: next } = nextMove(pending, around({ missingClaim: 'disk' }));
    expect(next.status?.phase).toBe('Pending');
    expect(conditionsOf(next)).toMatchObject({
      Synchronized: 'False FailedPvcNotFound',
      PodScheduled: 'False Unschedulable',
    });
    expect(nextMove(next, around({ missingClaim: 'disk' })).vmi).toBe(next);
    const { vmi: found } = nextMove(next, around());
    expect(found.status?.phase).toBe('Scheduled');
    expect(Object.keys(conditionsOf(found))).toEqual(['Ready']);
  });

  test.each([
    ['no node fits', {}, { node: undefined }],
    ['it is marked', annotated({ 'sim.drover.dev/unschedulable': 'true' }), {}],
  ])('it is unschedulable if %s', (_why, metadata, some) => {
    const { vmi: next } = nextMove(aVmi('Pending', notReady, metadata), around(some));
    expect(next.status?.phase).toBe('Scheduling');
    expect(conditionsOf(next)).toEqual({ Ready: 'False GuestNotRunning', PodScheduled: 'False Unschedulable' });
    expect(nextMove(next, around(some)).vmi).toBe(next);
    expect(nextMove({ ...next, metadata: aVmi('Scheduling').metadata }, around()).vmi.status?.phase).toBe('Scheduled');
  });

  test('stays in Scheduling while a Secret or ConfigMap that its pod mounts is missing', () => {
    const { vmi: next } = nextMove(aVmi('Pending', notReady), around({ lacksSource: true }));
    expect(next.status?.phase).toBe('Scheduling');
    expect(conditionsOf(next)).toEqual({ Ready: 'False GuestNotRunning' });
    expect(nextMove(next, around({ lacksSource: true })).vmi).toBe(next);
    expect(nextMove(next, around()).vmi.status?.phase).toBe('Scheduled');
  });

  test('stays in Scheduling while its image cannot be pulled', () => {
    const pending = aVmi('Pending', notReady, annotated({ 'sim.drover.dev/image-pull-fails': 'true' }));
    const { vmi: next } = nextMove(pending, around());
    expect(next.status?.phase).toBe('Scheduling');
    expect(conditionsOf(next)).toEqual({ Ready: 'False GuestNotRunning', Synchronized: 'False ImagePullBackOff' });
    expect(nextMove(next, around()).vmi).toBe(next);
    const { vmi: pulled } = nextMove({ ...next, metadata: aVmi('Scheduling').metadata }, around());
    expect(pulled.status?.phase).toBe('Scheduled');
    expect(conditionsOf(pulled)['Synchronized']).toBeUndefined();
  });

  test('boots for as long as it is asked to', () => {
    const booting = aVmi('Scheduled', notReady, annotated({ 'sim.drover.dev/boot-time': '1m30s' }));
    expect(nextMove(booting, around({ since: NOW - 10_000 }))).toEqual({ vmi: booting, nextMoveAt: NOW + 80_000 });
    const { vmi: up } = nextMove(booting, around({ since: NOW - 90_000 }));
    expect(up.status).toMatchObject({
      phase: 'Running',
      machine: { type: 'pc-q35-rhel9.6.0' },
    });
    expect(conditionsOf(up)).toEqual({ Ready: 'True', LiveMigratable: 'True' });
    expect(nextMove(up, around())).toEqual({ vmi: up });
  });

  test('boots for a second if nothing is set', () => {
    expect(nextMove(aVmi('Scheduled'), around()).nextMoveAt).toBe(NOW + 1000);
  });

  test('ends if its start fails', () => {
    const { vmi: next } = nextMove(
      aVmi('Scheduled', { ...passed('Scheduled'), ...notReady }),
      around({ since: 0, failing: true }),
    );
    expect(next.status?.phase).toBe('Failed');
    expect(next.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual(['Scheduled', 'Failed']);
  });

  test('starts paused if it is asked to', () => {
    const { vmi: next } = nextMove(aVmi('Scheduled', notReady, {}, { startStrategy: 'Paused' }), around({ since: 0 }));
    expect(conditionsOf(next)).toMatchObject({ Paused: 'True PausedByUser', Ready: 'False ReadinessGatesNotReady' });
  });
});

describe('a running VMI', () => {
  test('is not ready for as long as never-ready is set', () => {
    const unready = aVmi('Running', running, annotated({ 'sim.drover.dev/never-ready': 'true' }));
    const { vmi: next } = nextMove(unready, around());
    expect(conditionsOf(next)['Ready']).toBe('False ContainersNotReady');
    expect(conditionsOf(nextMove({ ...next, metadata: aVmi('Running').metadata }, around()).vmi)['Ready']).toBe('True');
  });

  test('is paused by an error of its disk, until that is over', () => {
    const { vmi: broken } = nextMove(
      aVmi('Running', running, annotated({ 'sim.drover.dev/io-error': 'true' })),
      around(),
    );
    expect(conditionsOf(broken)).toMatchObject({ Paused: 'True PausedIOError', Ready: 'False ReadinessGatesNotReady' });
    const mended = { ...broken, metadata: { ...broken.metadata, annotations: { 'sim.drover.dev/io-error': 'false' } } };
    const { vmi: next } = nextMove(mended, around());
    expect(conditionsOf(next)).toMatchObject({ Ready: 'True' });
    expect(conditionsOf(next)).not.toHaveProperty('Paused');
  });

  test('keeps what others write on it while it is paused', () => {
    const conditions = [condition('Ready', 'False', 'GuestNotRunning'), condition('Paused', 'True', 'PausedIOError')];
    const { vmi: next } = nextMove(aVmi('Running', { ...running, conditions }), around());
    expect(conditionsOf(next)).toMatchObject({ Paused: 'True PausedIOError', Ready: 'False GuestNotRunning' });
  });

  test('is backed up while a backup is named, which completes', () => {
    const { vmi: backedUp } = nextMove(aVmi('Running', running, named('nightly')), around());
    expect(backedUp.status?.changedBlockTracking).toMatchObject({ backupStatus: { backupName: 'nightly' } });
    expect(isBackedUp(backedUp)).toBe(true);
    const { vmi: done } = nextMove(aVmi('Running', backedUp.status, named('')), around());
    expect(isBackedUp(done)).toBe(false);
  });

  test('is unknown on a lost node, until the node is back', () => {
    const { vmi: lost } = nextMove(aVmi('Running', running), around({ nodeLost: true }));
    expect(lost.status?.phase).toBe('Running');
    expect(conditionsOf(lost)['Ready']).toBe('False ');
    expect(conditionsOf(nextMove(lost, around()).vmi)['Ready']).toBe('True');
  });

  test('keeps since when it is not ready when only the reason changes, as when its node is lost', () => {
    const broken = aVmi('Running', running, annotated({ 'sim.drover.dev/never-ready': 'true' }));
    const { vmi: before } = nextMove(broken, around());
    const { vmi: lost } = nextMove(before, around({ nodeLost: true, now: NOW + 60_000 }));
    const [first, second] = [before, lost].map((one) => one.status!.conditions!.find(({ type }) => type === 'Ready')!);
    expect(second!.reason).not.toBe(first!.reason);
    expect(second!.lastTransitionTime).toBe(first!.lastTransitionTime);
  });

  test.each([
    ['Succeeded', { 'sim.drover.dev/run-time': '5s' }],
    ['Failed', { 'sim.drover.dev/run-time': '5s', 'sim.drover.dev/run-end': 'Failed' }],
  ])('ends by itself: %s', (phase, annotations) => {
    const ending = aVmi('Running', running, annotated(annotations));
    expect(nextMove(ending, around()).nextMoveAt).toBe(NOW + 5000);
    const { vmi: next } = nextMove(ending, around({ since: NOW - 5000 }));
    expect(next.status?.phase).toBe(phase);
    expect(conditionsOf(next)['Ready']).toBe('False GuestNotRunning');
  });

  test('fails without its pod, and KubeVirt does not say since when', () => {
    const { vmi: next } = nextMove(
      aVmi('Running', running, annotated({ 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': 'PodGone' })),
      around(),
    );
    expect(next.status?.phase).toBe('Failed');
    expect(next.status?.phaseTransitionTimestamps).toEqual(aVmi('Running', running).status?.phaseTransitionTimestamps);
    expect(conditionsOf(next)['Ready']).toBe('False PodNotExists');
  });

  test('waits to have sockets and memory plugged in that its spec has gained', () => {
    const had = {
      ...running,
      currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
      memory: { guestAtBoot: '1Gi', guestCurrent: '1Gi', guestRequested: '1Gi' },
    };
    const domain = { cpu: { sockets: 2, maxSockets: 4 }, memory: { guest: '2Gi', maxGuest: '4Gi' } };
    const { vmi: first } = nextMove(aVmi('Running', had, {}, { domain }), around());
    expect(conditionsOf(first)).toMatchObject({ HotVCPUChange: 'True', HotMemoryChange: 'True' });
    expect(first.status).toMatchObject({ currentCPUTopology: { sockets: 1 }, memory: { guestCurrent: '1Gi' } });
    expect(nextMove(first, around({ now: NOW + 60_000 }))).toEqual({ vmi: first });
  });

  test('stays on its node if its disks are not shared', () => {
    expect(conditionsOf(nextMove(aVmi('Running', running), around({ migratable: false })).vmi)['LiveMigratable']).toBe(
      'False DisksNotLiveMigratable',
    );
  });
});

describe('a VMI that goes down', () => {
  test('has its time if it runs, and is not ready meanwhile', () => {
    const stopping = aVmi('Running', running, leaving({ 'sim.drover.dev/stop-time': '3s' }));
    const first = nextMove(stopping, around());
    expect(conditionsOf(first.vmi)['Ready']).toBe('False PodTerminating');
    expect(first).toMatchObject({
      nextMoveAt: NOW + 3000,
      vmi: { metadata: { finalizers: both }, status: { phase: 'Running' } },
    });
    const { vmi: gone } = nextMove(first.vmi, around({ now: NOW + 3000 }));
    expect(gone.status?.phase).toBe('Succeeded');
    expect(gone.metadata.finalizers).toEqual([]);
  });

  test('has no more than its grace period', () => {
    const stopping = aVmi('Running', running, leaving({ 'sim.drover.dev/stop-time': '1h' }));
    expect(nextMove(stopping, around()).nextMoveAt).toBe(NOW + 30_000);
    const forced = { ...stopping, spec: { ...stopping.spec, terminationGracePeriodSeconds: 1 } };
    expect(nextMove(forced, around()).nextMoveAt).toBe(NOW + 1000);
  });

  test('goes at once if it never ran, and its VM is left to count that', () => {
    const { vmi: next } = nextMove(aVmi('Scheduling', notReady, leaving()), around());
    expect(next.status?.phase).toBe('Failed');
    expect(next.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize']);
    expect(nextMove(next, around()).vmi).toBe(next);
    expect(nextMove(aVmi('Scheduling', notReady, leaving()), around({ hasVm: false })).vmi.metadata.finalizers).toEqual(
      [],
    );
  });

  test('stays until it is deleted if it has ended', () => {
    const failed = aVmi('Failed', passed('Running', 'Failed'), { finalizers: both });
    expect(nextMove(failed, around())).toEqual({ vmi: failed });
    const deleted = { ...failed, metadata: { ...failed.metadata, deletionTimestamp: at(0) } };
    expect(nextMove(deleted, around()).vmi.metadata.finalizers).toEqual([
      'kubevirt.io/virtualMachineControllerFinalize',
    ]);
  });

  test.each(['Scheduled', 'Running'] as const)('stays on a lost node, %s', (phase) => {
    const stuck = aVmi(phase, running, leaving());
    const { vmi: next, nextMoveAt: wakeAt } = nextMove(stuck, around({ nodeLost: true, now: NOW + 3_600_000 }));
    expect(next.metadata.finalizers).toEqual(both);
    expect(next.status?.phase).toBe(phase);
    expect(wakeAt).toBeUndefined();
  });
});

test.each(['Scheduled', 'Running'] as const)('is given up if its node is deleted, %s', (phase) => {
  const gone = around({ nodeLost: true, nodeGone: true });
  const { status } = nextMove(aVmi(phase, running), gone).vmi;
  expect(status).toMatchObject({ phase: 'Failed', reason: 'NodeUnresponsive' });
  expect(status?.phaseTransitionTimestamps).toEqual(running.phaseTransitionTimestamps);
  const left = nextMove(aVmi(phase, running, leaving()), gone).vmi;
  expect(left.status?.phase).toBe('Failed');
  expect(left.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize']);
});
