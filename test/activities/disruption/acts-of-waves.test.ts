import { expect, test } from 'vitest';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';

/** A wave that has so many VMs left to act on, and begins with as many as there are places for. */
function aWave(acts: ActsOfWaves, left: number, namespace = 'shop') {
  const ends: (() => void)[] = [];
  const goOn = (): void => {
    for (; left > 0 && acts.isFree(namespace); left--) ends.push(acts.begin(namespace));
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
  expect(acts.isFree('shop')).toBe(true);
});

test('acts in one namespace, which a webhook may hold up, leave places to others', () => {
  const acts = new ActsOfWaves(8);
  const held = [aWave(acts, 5), aWave(acts, 5)];
  expect(held.map(({ ends }) => ends.length)).toEqual([5, 1]);
  const other = aWave(acts, 5, 'office');
  expect(other.ends).toHaveLength(2);
  for (let end = other.ends.pop(); end !== undefined; end = other.ends.pop()) end();
  expect(held.map(({ ends }) => ends.length)).toEqual([5, 1]);
  held[0]!.ends[0]!();
  expect(held.map(({ ends }) => ends.length)).toEqual([5, 2]);
});
