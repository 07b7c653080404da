import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Nudges } from '../../activities/nudges.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first goes at once, more within the interval go as one at its end, and quiet sends nothing', () => {
  const sent: string[] = [];
  const nudges = new Nudges((key) => sent.push(key), () => 1_000);
  nudges.for('a');
  expect(sent).toEqual(['a']);
  for (let time = 0; time < 50; time++) nudges.for('a');
  nudges.for('b');
  expect(sent).toEqual(['a', 'b']);
  vi.advanceTimersByTime(1_000);
  expect(sent).toEqual(['a', 'b', 'a']);
  vi.advanceTimersByTime(10_000);
  expect(sent).toHaveLength(3);
  nudges.for('a');
  expect(sent).toHaveLength(4);
});

test('stopped, it sends nothing more', () => {
  const sent: string[] = [];
  const nudges = new Nudges((key) => sent.push(key), () => 1_000);
  nudges.for('a');
  nudges.for('a');
  nudges.stop();
  vi.advanceTimersByTime(10_000);
  expect(sent).toEqual(['a']);
});

test('what a person waits for goes at once, and what was waiting goes with it', () => {
  const sent: string[] = [];
  const nudges = new Nudges((key) => sent.push(key), () => 1_000);
  nudges.for('a');
  nudges.for('a');
  nudges.atOnce('a');
  expect(sent).toEqual(['a', 'a']);
  vi.advanceTimersByTime(10_000);
  expect(sent).toEqual(['a', 'a']);
});
