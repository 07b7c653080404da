import { expect, test } from 'vitest';
import { PendingSignals } from '../../../workflows/owners/pending-signals.ts';

const aPending = (received: string[] = []) =>
  new PendingSignals<string>((told, ask) => [...told.filter((one) => one !== ask), ask], received);

test('a plan knows what was reported before it was requested, if it is given a state', () => {
  const asks = aPending();
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
    const asks = aPending(['pause']);
    asks.requested(hasState);
    asks.add('abort');
    expect(asks.unknown(isOverruled)).toEqual(['pause', 'abort']);
  }
});

test('a report stays until a plan was made', () => {
  const asks = aPending();
  asks.add('pause');
  asks.requested(true);
  asks.requested(true);
  expect(asks.unknown(true)).toEqual(['pause']);
});

test('a report takes the place of what it makes needless, and of nothing that a plan knows', () => {
  const asks = aPending();
  asks.add('pause');
  asks.add('pause');
  expect(asks.received).toEqual(['pause']);
  asks.requested(true);
  asks.add('pause');
  asks.add('pause');
  expect(asks.unknown(false)).toEqual(['pause']);
});

test('reports stay few, however many there are and however many plans fail', () => {
  const asks = aPending();
  for (let n = 0; n < 100; n++) {
    asks.add(`${n % 7}`);
    asks.requested(n % 2 === 0);
  }
  expect(asks.received.toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6']);
});
