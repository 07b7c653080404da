import { expect, test } from 'vitest';
import { StageClock } from '../../../simulator/vmi/stage-clock.ts';

const TOLD = 10_000;

test('a stage that is seen to begin begins within the second that the object tells', () => {
  expect(new StageClock().since('a', 'Scheduled', TOLD, TOLD + 400)).toBe(TOLD + 400);
  expect(new StageClock().since('a', 'Scheduled', TOLD, TOLD - 100)).toBe(TOLD);
  expect(new StageClock().since('a', 'Scheduled', TOLD, TOLD + 60_000)).toBe(TOLD + 999);
});

test('the beginning is remembered for as long as the stage lasts', () => {
  const clock = new StageClock();
  clock.since('a', 'Scheduled', TOLD, TOLD + 400);
  expect(clock.since('a', 'Scheduled', TOLD, TOLD + 800)).toBe(TOLD + 400);
  expect(clock.since('a', 'Running', TOLD + 1000, TOLD + 1500)).toBe(TOLD + 1500);
  clock.forget('a');
  expect(clock.since('a', 'Running', TOLD + 1000, TOLD + 1700)).toBe(TOLD + 1700);
});
