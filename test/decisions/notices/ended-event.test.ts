import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { endedEvent, operationEndedEvent } from '../../../decisions/notices/ended-event.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';

const AT = '2026-01-01T10:00:00.000Z';
const statusWith = (rollout: object, degraded = 'NoFailures'): PoolStatus =>
  ({
    rollout: { revision: 'abc', startedAt: AT, batches: 2, ...rollout },
    conditions: [{ type: 'Degraded', status: 'True', reason: degraded, message: `${degraded}, and why` }],
  }) as unknown as PoolStatus;
const reasons = (before: PoolStatus | undefined, after: PoolStatus) =>
  endedEvent(before, after).map(({ type, reason }) => [type, reason]);

test('a rollout that completes is an Event, once', () => {
  const [before, after] = [statusWith({}), statusWith({ completedAt: AT })];
  expect(reasons(before, after)).toEqual([['Normal', 'RolloutCompleted']]);
  expect(reasons(after, after)).toEqual([]);
});

test('an undo that is done is an Event, once', () => {
  const [before, after] = [statusWith({}, 'Undoing'), statusWith({}, 'Undone')];
  expect(reasons(before, after)).toEqual([['Normal', 'RolloutUndone']]);
  expect(reasons(after, after)).toEqual([]);
});

test('a new pool, whose VMs were made and not updated, has completed no rollout', () => {
  expect(reasons(undefined, statusWith({ completedAt: AT }))).toEqual([]);
  expect(reasons(statusWith({ batches: 0 }), statusWith({ batches: 0, completedAt: AT }))).toEqual([]);
});

const ofOperation = (status: object) => operationEndedEvent({ status } as unknown as StoredOperation);

test.each([
  ['Complete', 'Complete', 'OperationEnded'],
  ['Failed', 'Aborted', 'OperationEnded'],
  ['Failed', 'TooManyFailures', 'OperationFailed'],
])('an operation that is %s (%s) is an Event: %s', (type, reason, event) => {
  const condition = { type, status: 'True', reason, message: 'why' };
  expect(ofOperation({ completionTime: AT, conditions: [condition] })).toMatchObject({
    reason: event,
    note: `${reason}: why`,
  });
  expect(ofOperation({ conditions: [{ ...condition, status: 'False' }] })).toBeNull();
});
