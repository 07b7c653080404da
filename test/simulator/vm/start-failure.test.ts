import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffFactorOf, backoffSeconds, startFailureOf } from '../../../simulator/vm/start-failure.ts';
import { at, aVmi, aVm, NOW, passed } from '../simulated.ts';

const chance = { now: NOW, random: 0, backoffFactor: 1 };
const failed = aVmi('Failed', passed('Pending', 'Scheduling'));

test.each([
  [1, 10, 15],
  [2, 40, 60],
  [3, 90, 135],
  [4, 160, 240],
  [5, 250, 300],
  [6, 300, 300],
  [1000, 300, 300],
])('the next start after %i failures waits for %i to %i seconds', (count, least, most) => {
  expect(backoffSeconds(count, 0)).toBe(least);
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
      const seconds = backoffSeconds(count, random);
      expect(seconds).toBeGreaterThanOrEqual(least);
      expect(seconds).toBeLessThanOrEqual(most);
    }),
  );
});

test('an instance that ended without ever running counts, once', () => {
  const first = startFailureOf(aVm(), failed, chance);
  expect(first).toEqual({ consecutiveFailCount: 1, lastFailedVMIUID: 'vmi-uid', retryAfterTimestamp: at(10) });
  const again = startFailureOf(aVm(undefined, { startFailure: first! }), failed, { ...chance, now: NOW + 5000 });
  expect(again).toEqual(first);
  const second = startFailureOf(
    aVm(undefined, { startFailure: { ...first!, lastFailedVMIUID: 'before' } }),
    failed,
    chance,
  );
  expect(second).toEqual({ consecutiveFailCount: 2, lastFailedVMIUID: 'vmi-uid', retryAfterTimestamp: at(40) });
});

test('a failure is kept while the next start is in progress, and forgotten once one has run', () => {
  const before = { startFailure: { consecutiveFailCount: 2, lastFailedVMIUID: 'before', retryAfterTimestamp: at(10) } };
  expect(startFailureOf(aVm(undefined, before), undefined, chance)).toEqual(before.startFailure);
  expect(startFailureOf(aVm(undefined, before), aVmi('Scheduled', passed('Pending')), chance)).toEqual(
    before.startFailure,
  );
  expect(startFailureOf(aVm(undefined, before), aVmi('Running', passed('Pending', 'Running')), chance)).toBeUndefined();
});

test('an end after having run is not a failed start, and some strategies never count', () => {
  expect(startFailureOf(aVm(), aVmi('Failed', passed('Pending', 'Running', 'Failed')), chance)).toBeUndefined();
  expect(startFailureOf(aVm({ runStrategy: 'Manual' }), failed, chance)).toBeUndefined();
  expect(startFailureOf(aVm({ runStrategy: 'Halted' }), failed, chance)).toBeUndefined();
});

test('the KubeVirt object can shorten the wait', () => {
  const kubevirt = { metadata: { name: 'kubevirt', annotations: { 'sim.drover.dev/backoff-factor': '0.1' } } };
  expect(backoffFactorOf(kubevirt)).toBe(0.1);
  expect(backoffFactorOf(undefined)).toBe(1);
  expect(
    backoffFactorOf({ metadata: { name: 'kubevirt', annotations: { 'sim.drover.dev/backoff-factor': 'soon' } } }),
  ).toBe(1);
  expect(startFailureOf(aVm(), failed, { ...chance, backoffFactor: 0.1 })?.retryAfterTimestamp).toBe(at(1));
});
