import { expect, test, vi } from 'vitest';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';

/** A wave that has so many VMs left to act on, and begins with as many as there are places for. */
function aWave(acts: ActsOfWaves, left: number) {
  const ends: (() => void)[] = [];
  const goOn = (): void => {
    for (; left > 0 && acts.free > 0; left--) ends.push(acts.begin());
    if (left === 0) acts.leave(goOn);
  };
  acts.wait(goOn);
  goOn();
  return { ends, goOn };
}

test('the wave that has waited longest begins with all it may before the next has a turn', () => {
  const acts = new ActsOfWaves(2);
  const [first, second, third] = [5, 2, 1].map((left) => aWave(acts, left));
  const begun = (): number[] => [first, second, third].map((wave) => wave!.ends.length);
  expect(begun()).toEqual([2, 0, 0]);
  first!.ends[0]!();
  first!.ends[1]!();
  expect(begun()).toEqual([4, 0, 0]);
  first!.ends[2]!();
  first!.ends[3]!();
  expect(begun()).toEqual([5, 1, 0]);
  acts.leave(third!.goOn);
  first!.ends[4]!();
  second!.ends[0]!();
  second!.ends[1]!();
  expect(begun()).toEqual([5, 2, 0]);
  expect(acts.free).toBe(2);
});

test('acts that take long hold up no others, and give back one place each', () => {
  vi.useFakeTimers();
  try {
    const acts = new ActsOfWaves(1);
    const slow = aWave(acts, 1);
    const other = aWave(acts, 3);
    vi.advanceTimersByTime(29_999);
    expect(other.ends).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(other.ends).toHaveLength(1);
    slow.ends[0]!();
    expect([acts.free, other.ends.length]).toEqual([0, 1]);
    other.ends[0]!();
    other.ends[0]!();
    expect([acts.free, other.ends.length]).toEqual([0, 2]);
  } finally {
    vi.useRealTimers();
  }
});
