import { expect, test } from 'vitest';
import { UID_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { limitsOf } from '../../../decisions/operations/limits.ts';
import { whyHeld, whyNeverOpen, whyRefused } from '../../../decisions/operations/why-refused.ts';
import { anOperation } from './operations.ts';

test('an operation that has ended, comes from a backup, or now asks for something else is refused', () => {
  expect(whyRefused(anOperation(), 'Restart')).toBeNull();
  expect(whyRefused(anOperation(), 'Stop')).toBe('asks for Restart, not for Stop');
  const ended = anOperation({}, {}, { observedGeneration: 1, conditions: [], completionTime: '2026-01-01T13:00:00Z' });
  expect(whyRefused(ended, 'Restart')).toBe('has ended');
  const copy = anOperation({}, { annotations: { [UID_ANNOTATION]: 'another' } });
  expect(whyRefused(copy, 'Restart')).toBe('was made from a copy of another');
  for (const one of [ended, copy]) expect(whyHeld(one, 'Restart')).toContain('the operation ');
});

test('an operation does not begin with a window that never opens', () => {
  const hour = { cron: '0 3 * * *', duration: '1h' };
  const windows = [hour, { cron: '0 61 * * *', duration: '1h' }];
  expect(whyNeverOpen(anOperation({ windows }))).toMatch(/^spec\.windows\[1\]: hour 61 is not understood: /);
  expect(whyNeverOpen(anOperation({ windows: [hour] }))).toBeNull();
  expect(whyNeverOpen(anOperation())).toBeNull();
  const begun = { observedGeneration: 1, conditions: [], startTime: '2026-01-01T13:00:00Z' };
  expect(whyNeverOpen(anOperation({ windows }, {}, begun))).toBeNull();
});

test('no VM is taken for an operation that is paused, aborted or deleted', () => {
  expect(whyHeld(anOperation(), 'Restart')).toBeNull();
  expect(whyHeld(anOperation(), 'Start')).toBe('the operation asks for Restart, not for Start');
  expect(whyHeld(anOperation({ paused: true }), 'Restart')).toBe('spec.paused is true');
  expect(whyHeld(anOperation({ aborted: true }), 'Restart')).toBe('spec.aborted is true');
  const deleted = anOperation({}, { deletionTimestamp: '2026-01-01T13:00:00Z' });
  for (const one of [undefined, deleted]) expect(whyHeld(one, 'Restart')).toBe('the operation was deleted');
});

test('the limits are those of the operation, relative to the number of VMs', () => {
  expect(limitsOf(anOperation(), 100)).toEqual({ atOnce: 5, maxFailures: 0, deadlineMs: 600_000 });
  expect(limitsOf(anOperation({ action: 'Stop' }), 0)).toMatchObject({ atOnce: 1 });
  const spec = { atOnce: '50%', maxFailures: 2, deadline: '5s' };
  expect(limitsOf(anOperation(spec), 9)).toEqual({ atOnce: 4, maxFailures: 2, deadlineMs: 5_000 });
});
