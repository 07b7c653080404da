import { expect, test } from 'vitest';
import type { Backoff, FailureReason } from '../../../decisions/owners/failures.ts';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';

const ofOne = (...names: string[]) => ({ names, isGeneral: false });
const left = (failureBackoff: FailureBackoff, reason: FailureReason = 'FailedCreate'): Backoff | undefined =>
  failureBackoff.backoffs(() => false)[reason];
const allowance = (failureBackoff: FailureBackoff): number | null | undefined => left(failureBackoff)?.allowance;

test('a refusal of one VM delays that VM, and no other', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no three', ofOne('web-3'), 7);
  expect(left(failureBackoff)).toMatchObject({
    allowance: null,
    refused: { names: ['web-3'], isDelayed: true, isGeneral: false },
  });
});

test('a failure that may concern all delays all: one is tried at a time, and another each time', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(allowance(failureBackoff)).toBe(0);
  failureBackoff.state.byReason.FailedCreate!.retryAt = null;
  expect(left(failureBackoff)).toMatchObject({ allowance: 1, refused: { isDelayed: false, isGeneral: true } });
  expect(failureBackoff.backoffs((kind) => kind === 'creating').FailedCreate?.allowance).toBe(0);
  expect(failureBackoff.backoffs((kind) => kind === 'deleting').FailedCreate?.allowance).toBe(1);
  failureBackoff.failed('FailedCreate', 'no', ofOne('web-6'));
  expect(left(failureBackoff)).toMatchObject({
    allowance: 0,
    refused: { names: ['web-3', 'web-4', 'web-5', 'web-6'] },
  });
});

test('a failure of one kind delays nothing else, and ends no other delay when it passes', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedDelete', 'protected', { names: ['web-3'], isGeneral: true });
  failureBackoff.failed('FailedCreate', 'no quota', { names: ['web-4'], isGeneral: true });
  expect(left(failureBackoff, 'FailedDelete')).toMatchObject({ allowance: 0, refused: { names: ['web-3'] } });
  expect(failureBackoff.waiting).toEqual(['FailedDelete', 'FailedCreate']);
  failureBackoff.succeeded('FailedCreate');
  expect(allowance(failureBackoff)).toBeNull();
  expect(failureBackoff.waiting).toEqual(['FailedDelete']);
  expect(left(failureBackoff, 'FailedDelete')).toMatchObject({ allowance: 0, failure: { message: 'protected' } });
});

test('a failure that came meanwhile is not the one that has passed', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no', ofOne('web-3'));
  const seen = left(failureBackoff)!.failure!;
  failureBackoff.failed('FailedCreate', 'still no', ofOne('web-3'));
  failureBackoff.passed('FailedCreate', seen);
  expect(left(failureBackoff)?.failure?.message).toBe('still no');
});

test('VMs that are refused as before delay no other, however many they are', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  failureBackoff.passed('FailedCreate');
  failureBackoff.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(allowance(failureBackoff)).toBeNull();
});

test('an edit of the pool lets all be tried again', () => {
  const failureBackoff = new FailureBackoff();
  failureBackoff.failed('FailedCreate', 'no three', ofOne('web-3'));
  failureBackoff.tryNow();
  expect(left(failureBackoff)?.refused).toEqual({ names: [], isDelayed: false, isGeneral: false });
});
