import { expect, test } from 'vitest';
import { Lag } from '../../dev/simulator/lag.ts';
import { machine, NOW } from './simulated.ts';

const at = (generation: number) => machine(undefined, undefined, { generation });
const lagging = (text: string) => ({ metadata: { name: 'kubevirt', annotations: { 'sim.drover.dev/spec-lag': text } } });

test('a changed spec is seen later, where the cluster says so', () => {
  const lag = new Lag();
  expect(lag.note('a', at(1), at(2), lagging('2s'), NOW)).toBe(2000);
  expect(lag.see('a', at(2), NOW + 1999)).toEqual(at(1));
  expect(lag.note('a', at(2), at(3), lagging('2s'), NOW + 1000)).toBe(2000);
  expect(lag.see('a', at(3), NOW + 1999)).toEqual(at(1));
  expect(lag.see('a', at(3), NOW + 2000)).toEqual(at(3));
});

test('all else is seen at once', () => {
  const lag = new Lag();
  expect(lag.note('a', at(1), at(2), undefined, NOW)).toBeUndefined();
  expect(lag.note('b', at(1), at(1), lagging('2s'), NOW)).toBeUndefined();
  expect(lag.note('c', undefined, at(1), lagging('2s'), NOW)).toBeUndefined();
  expect(lag.note('d', at(1), at(2), lagging('2s'), NOW)).toBe(2000);
  expect(lag.note('d', at(2), undefined, lagging('2s'), NOW)).toBeUndefined();
  for (const key of ['a', 'b', 'c', 'd']) expect(lag.see(key, at(2), NOW)).toEqual(at(2));
});
