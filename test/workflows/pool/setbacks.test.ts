import { expect, test } from 'vitest';
import { Setbacks } from '../../../workflows/pool/setbacks.ts';

const ofOne = (...names: string[]) => ({ names, isGeneral: false });

test('what is refused of one VM holds that one back, and no other', () => {
  const setbacks = new Setbacks();
  setbacks.failed('FailedCreate', 'no three', ofOne('web-3'), 7);
  expect(setbacks.allowance(false)).toBeNull();
  expect(setbacks.refused()).toEqual({ names: ['web-3'], isHeld: true, isGeneral: false });
});

test('what may concern all holds all back: one is tried at a time, and another each time', () => {
  const setbacks = new Setbacks();
  setbacks.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(setbacks.allowance(false)).toBe(0);
  setbacks.state.retryAt = null;
  expect(setbacks.allowance(false)).toBe(1);
  expect(setbacks.refused()).toMatchObject({ isHeld: false, isGeneral: true });
  setbacks.failed('FailedCreate', 'no', ofOne('web-6'));
  expect(setbacks.allowance(false)).toBe(0);
  expect(setbacks.refused().names).toEqual(['web-3', 'web-4', 'web-5', 'web-6']);
});

test('VMs that are refused as before hold no other back, however many they are', () => {
  const setbacks = new Setbacks();
  setbacks.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  setbacks.passed();
  setbacks.failed('FailedCreate', 'no', { names: ['web-3', 'web-4', 'web-5'], isGeneral: true });
  expect(setbacks.allowance(false)).toBeNull();
});

test('an edit of the pool tries all anew', () => {
  const setbacks = new Setbacks();
  setbacks.failed('FailedCreate', 'no three', ofOne('web-3'));
  setbacks.tryNow();
  expect(setbacks.refused()).toEqual({ names: [], isHeld: false, isGeneral: false });
});
