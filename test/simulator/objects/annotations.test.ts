import { describe, expect, test } from 'vitest';
import { startFails } from '../../../simulator/controllers/vmi-controller.ts';
import { parseDuration } from '../../../simulator/objects/annotations.ts';
import { quantityToNumber } from '../../../simulator/objects/quantity.ts';
import { aVmi, aVm } from '../simulated.ts';

const failing = (failStarts: string) =>
  aVmi('Scheduled', {}, { annotations: { 'sim.drover.dev/fail-starts': failStarts } });
const after = (consecutiveFailCount: number, annotations = {}) =>
  aVm(undefined, { startFailure: { consecutiveFailCount } }, { annotations });

test.each([
  ['1s', 1000],
  ['500ms', 500],
  ['1m30s', 90_000],
  ['2h', 7_200_000],
  ['0.5s', 500],
  ['3', 3000],
  ['soon', undefined],
  ['1d', undefined],
  ['', undefined],
])('the duration %j is %s ms', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

test.each([
  ['1Gi', 2 ** 30],
  ['2048Mi', 2 ** 31],
  ['1500M', 1.5e9],
  ['0.5', 0.5],
  [4, 4],
  ['1e3', 1000],
  ['100m', 0.1],
])('the quantity %j is %d', (quantity, amount) => {
  expect(quantityToNumber(quantity)).toBeCloseTo(amount);
});

describe('starts that fail', () => {
  test.each([
    ['2', aVm(), true],
    ['2', after(1), true],
    ['2', after(2), false],
    ['2', after(0, { 'sim.drover.dev/fail-starts-done': '2' }), false],
    ['3', after(0, { 'sim.drover.dev/fail-starts-done': '2' }), true],
    ['always', after(99, { 'sim.drover.dev/fail-starts-done': '2' }), true],
    ['always', undefined, true],
    ['2', undefined, false],
    ['0', aVm(), false],
  ])('fail-starts: %s', (failStarts, vm, expected) => {
    expect(startFails(failing(failStarts), vm)).toBe(expected);
  });
});
