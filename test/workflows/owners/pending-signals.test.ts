import { expect, test } from 'vitest';
import { PendingSignals } from '../../../workflows/owners/pending-signals.ts';

test('a plan knows what was reported before it was requested, if it is given a state', () => {
  const asks = new PendingSignals<string>();
  asks.add('pause');
  asks.requested(true);
  asks.add('abort');
  expect(asks.received).toEqual(['pause', 'abort']);
  expect(asks.unknown(false)).toEqual(['abort']);
  expect(asks.received).toEqual([]);
});

test('a plan that is given no state, or finds it overruled, knows nothing of what was reported', () => {
  for (const [hasState, isOverruled] of [
    [false, false],
    [true, true],
  ] as const) {
    const asks = new PendingSignals(['pause']);
    asks.requested(hasState);
    asks.add('abort');
    expect(asks.unknown(isOverruled)).toEqual(['pause', 'abort']);
  }
});

test('a report stays until a plan was made', () => {
  const asks = new PendingSignals<string>();
  asks.add('pause');
  asks.requested(true);
  asks.requested(true);
  expect(asks.unknown(true)).toEqual(['pause']);
});

test('the newest reports are kept, however many there are, and nothing that the plan knows counts as unknown', () => {
  const asks = new PendingSignals<number>();
  for (let n = 0; n < 10; n++) asks.add(n);
  asks.requested(true);
  for (let n = 10; n < 255; n++) asks.add(n);
  expect(asks.received).toHaveLength(250);
  expect(asks.unknown(false)).toEqual(Array.from({ length: 245 }, (_, index) => index + 10));
});
