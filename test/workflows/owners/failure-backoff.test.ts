import { expect, test } from 'vitest';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';

const ofOne = (...names: string[]) => ({ names, isGeneral: false });

test('what is refused of one VM holds that one back, and no other', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no three', ofOne('web-3'), 7);
  expect(failureBackoff.allowance(false)).toBeNull();
  expect(failureBackoff.refused()).toEqual({ names: ['web-3'], isHeld: true, isGeneral: false });
});

test('what may concern all holds all back: one is tried at a time, and another each time', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(failureBackoff.allowance(false)).toBe(0);
  failureBackoff.state.retryAt = null;
  expect(failureBackoff.allowance(false)).toBe(1);
  expect(failureBackoff.refused()).toMatchObject({ isHeld: false, isGeneral: true });
  failureBackoff.failed('FailedCreate', 'no', ofOne('web-6'));
  expect(failureBackoff.allowance(false)).toBe(0);
  expect(failureBackoff.refused().names).toEqual(['web-3', 'web-4', 'web-5', 'web-6']);
});

test('VMs that are refused as before hold no other back, however many they are', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  failureBackoff.passed();
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(failureBackoff.allowance(false)).toBeNull();
});

test('an edit of the pool tries all again', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no three', ofOne('web-3'));
  failureBackoff.tryNow();
  expect(failureBackoff.refused()).toEqual({ names: [], isHeld: false, isGeneral: false });
});
