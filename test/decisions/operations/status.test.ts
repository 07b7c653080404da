import { expect, test } from 'vitest';
import { OperationStatus } from '../../../api/operations/operation.ts';
import { NO_COUNTS, transitionOutline, type TransitionProgress } from '../../../decisions/machine-types/transition.ts';
import { outlinedTransition, actionReport } from '../../../decisions/operations/action-report.ts';
import { lifetimeEndsAt, isRestored, needsWorkflow } from '../../../decisions/operations/lifetime.ts';
import { failuresIn, operationStatus, withTrouble, type ObservedRun } from '../../../decisions/operations/status.ts';
import { transitionOf } from '../../../decisions/operations/transition.ts';
import { whyAborted } from '../../../decisions/operations/why-refused.ts';
import { anOperation, aProgress } from './operations.ts';

const NOW = '2026-01-01T12:05:00.000Z';
const request = { by: 'bob', at: NOW, reason: null };

const statusOf = (operation = anOperation(), standing: Partial<ObservedRun> = {}): OperationStatus => {
  const status = operationStatus(
    operation,
    { progress: aProgress(), end: null, workflowId: 'operation/c/shop/nightly/u', ...standing },
    NOW,
  );
  expect(OperationStatus.parse(status)).toEqual(status);
  return status;
};

const told = ({ conditions = [] }: OperationStatus): string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test('a run in progress is reported in numbers, and is in progress for kstatus', () => {
  const progress = aProgress({
    done: 1,
    failed: [{ vm: 'shop/b', message: 'late', wasDown: true }],
    inProgress: ['shop/c'],
    open: 2,
    skipped: [
      {
        message: 'it is paused',
        isExcluded: false,
        count: 60,
        vms: Array.from({ length: 60 }, (_, n) => `shop/p${n}`),
      },
    ],
    full: ['1 of 5 VMs not ready'],
  });
  const status = statusOf(anOperation({ requestedBy: 'ada' }), { progress });
  expect(status).toMatchObject({
    observedGeneration: 3,
    startTime: NOW,
    requestedBy: 'ada',
    vms: { chosen: 5, done: 1, failed: 1, inProgress: 1, open: 2, excluded: 0 },
    failures: [{ vm: 'b', message: 'late', wasDown: true }],
    waits: [{ message: 'it is paused', vms: 60 }, { message: '1 of 5 VMs not ready' }],
  });
  expect(status.waits![0]!.names).toHaveLength(40);
  expect(status).not.toHaveProperty('completionTime');
  expect(told(status)).toEqual([
    'Ready=False Restarting',
    'Reconciling=True Restarting',
    'Progressing=True Restarting',
    'Paused=False NotPaused',
  ]);
});

test('a run that only waits says so: for a window, or until VMs are ready that others have taken down', () => {
  const full = ['the next window opens at 2026-01-02T02:00:00.000Z'];
  const status = statusOf(anOperation(), { progress: aProgress({ full }) });
  expect(told(status)).toContain('Progressing=True Waiting');
  expect(status.waits).toEqual([{ message: full[0] }]);
  expect(told(statusOf(anOperation(), { progress: aProgress({ full, inProgress: ['shop/a'] }) }))).toContain(
    'Progressing=True Restarting',
  );
});

const stateOf = (change: object): string[] => told(statusOf(anOperation(), { progress: aProgress(change) }));

test('a run says that it waits while a disruption budget, or what else defers VMs, holds all that are to go', () => {
  const message = 'disruption budget shop/db has no room';
  const deferred = { message, isExcluded: false, count: 1, vms: ['shop/a'] };
  expect(stateOf({ skipped: [deferred], open: 1 })).toContain('Progressing=True Waiting');
  expect(stateOf({ skipped: [deferred], open: 1, inProgress: ['shop/b'] })).toContain('Progressing=True Restarting');
  expect(stateOf({ skipped: [{ ...deferred, isExcluded: true }], open: 1 })).toContain('Progressing=True Restarting');
});

test('an operation that is paused is held: neither on its way nor stalled', () => {
  expect(told(statusOf(anOperation({ paused: true })))).toEqual([
    'Ready=False Paused',
    'Progressing=False Paused',
    'Paused=True PausedBySpec',
  ]);
});

test.each([
  [{ done: 1, open: 0 }, 'Complete'],
  [{ failed: [{ vm: 'shop/a', message: '' }], open: 3 }, 'VmsFailed'],
  [{ open: 1 }, 'Incomplete'],
  [{ aborted: request, open: 3 }, 'Aborted'],
] as const)('a run that has ended is told by its outcome: %o is %s', (change, reason) => {
  const progress = aProgress(change as object);
  const status = statusOf(anOperation(), { progress, end: actionReport(progress).end });
  expect(status.completionTime).toBe(NOW);
  const outcome =
    reason === 'Complete'
      ? ['Ready=True Complete', 'Complete=True Complete']
      : [`Ready=False ${reason}`, `Stalled=True ${reason}`, `Failed=True ${reason}`];
  expect(told(status)).toEqual([...outcome, `Progressing=False ${reason}`, 'Paused=False NotPaused']);
});

test('what an earlier run has reported stays, and the failures that it names count for the next', () => {
  const failed = [
    { vm: 'shop/b', message: 'late', wasDown: true as const },
    { vm: 'pool shop/web', message: 'refused' },
  ];
  const before = statusOf(anOperation(), { progress: aProgress({ done: 1, failed, open: 3 }) });
  const end = { reason: 'Refused', message: 'a fault' } as const;
  const after = statusOf(anOperation({}, {}, before), { progress: null, end });
  expect(after).toMatchObject({ vms: before.vms, startTime: before.startTime, completionTime: NOW });
  expect(failuresIn(anOperation({}, {}, before))).toEqual(failed);
});

const failing = (status: OperationStatus, times: number): OperationStatus =>
  withTrouble(status, 'a dry run', { times, message: 'it is away' });

test('what an activity keeps failing with is said once, beside what is waited for', () => {
  const before = statusOf(anOperation(), { progress: aProgress({ full: ['1 at a time'], open: 1 }) });
  expect(failing(failing(before, 3), 4)).toEqual({
    ...before,
    waits: [{ message: '1 at a time' }, { message: 'a dry run has failed 4 times, and is tried again: it is away' }],
  });
});

test('thousands of failures are reported briefly', () => {
  const failed = Array.from({ length: 5_000 }, (_, n) => ({
    vm: `shop/vm-${n}`,
    message: 'x'.repeat(300),
  }));
  const status = statusOf(anOperation(), { progress: aProgress({ failed }) });
  expect(status.failures).toHaveLength(100);
  expect(status.failures!.at(-1)!.vm).toBe('vm-4999');
  expect(JSON.stringify(status).length).toBeLessThan(100_000);
});

test.each([
  ['nothing is asked for', anOperation(), null],
  ['it is paused', anOperation({ paused: true }), null],
  ['it is aborted', anOperation({ aborted: true, paused: true }), 'spec.aborted is true'],
  ['it is deleted', undefined, 'the operation was deleted'],
  ['it is being deleted', anOperation({}, { deletionTimestamp: NOW }), 'the operation was deleted'],
])('an operation ends early as its object says: %s', (_when, operation, why) => {
  expect(whyAborted(operation)).toBe(why);
});

const stamped = (spec: object, generation: number) =>
  anOperation(spec, {
    generation,
    annotations: { 'drover.dev/requested-by': 'ada 3', 'kubernetes.io/change-cause': 'lunch' },
  });

test('the user who paused or aborted an operation is named as long as its spec is what they asked for', () => {
  const pausedBy = (generation: number) =>
    statusOf(stamped({ paused: true }, generation)).conditions?.find(({ type }) => type === 'Paused')?.message;
  expect([pausedBy(3), pausedBy(4)]).toEqual(['asked by ada: lunch', 'lunch']);
  expect(whyAborted(stamped({ aborted: true }, 3))).toBe('asked by ada: lunch');
});

test('a workflow is needed until the operation ends, and until its object is due to be deleted', () => {
  const ended = { completionTime: NOW };
  expect(needsWorkflow(anOperation())).toBe(true);
  expect(needsWorkflow(anOperation({}, {}, ended))).toBe(false);
  const toDelete = anOperation({ ttlSecondsAfterFinished: 60 }, {}, ended);
  expect(needsWorkflow(toDelete)).toBe(true);
  expect(lifetimeEndsAt(toDelete)).toBe(Date.parse(NOW) + 60_000);
  expect(lifetimeEndsAt(anOperation({ ttlSecondsAfterFinished: 0 }))).toBeNull();
});

const noted = (uid: string) => anOperation({}, { annotations: { 'drover.dev/uid': uid } });

test('an object that carries the UID of another is a copy', () => {
  expect([anOperation(), noted('uid-of-nightly'), noted('another')].map(isRestored)).toEqual([false, false, true]);
});

const aTransition = (change: Partial<TransitionProgress> = {}): TransitionProgress => ({
  action: 'MachineType',
  phase: 'Waiting',
  transition: transitionOf(TYPES),
  results: [
    { from: 'pc-q35-rhel8.6.0', wanted: null, architecture: null, preference: null, to: 'q35', vms: 9, fault: null },
  ],
  counts: { ...NO_COUNTS, done: 3, waiting: 4, inPools: 2, restarting: 1, excluded: 1 },
  patched: 8,
  restarted: 1,
  failed: [{ vm: 'pool shop/web', message: 'denied' }],
  failures: 1,
  inProgress: ['shop/db'],
  skipped: [],
  full: [],
  maxRestarts: 2,
  paused: null,
  aborted: null,
  startedAt: NOW,
  ...change,
});
const TYPES = anOperation({ action: 'MachineType', machineType: { from: '*rhel8.*', restart: true } });

test('a change of machine types is reported by what its VMs wait for, and a command shows the run from that', () => {
  const progress = aTransition();
  const status = statusOf(TYPES, { progress });
  expect(status).toMatchObject({
    vms: { chosen: 12, done: 3, failed: 1, inProgress: 1, open: 6, excluded: 1 },
    machineType: {
      changed: 8,
      restarted: 1,
      waiting: 4,
      inPools: 2,
      toChange: 0,
      toRestart: 0,
      deferred: 0,
      atOnce: 2,
    },
    failures: [{ vm: 'pool web', message: 'denied' }],
  });
  expect(told(status)).toContain('Progressing=True Waiting');
  const shown = outlinedTransition(transitionOf(TYPES), 'Waiting', status.vms, status.machineType);
  expect(transitionOutline(shown)).toEqual(transitionOutline(progress));
});

test.each([
  [{}, 'VmsFailed'],
  [{ failures: 0, failed: [] }, 'Incomplete'],
  [{ failures: 0, failed: [], counts: { ...NO_COUNTS, done: 3, excluded: 1 } }, 'Complete'],
  [{ aborted: request }, 'Aborted'],
])('a change of machine types that has ended with %j is %s', (change, reason) => {
  expect(actionReport(aTransition(change)).end).toMatchObject({ reason });
});
