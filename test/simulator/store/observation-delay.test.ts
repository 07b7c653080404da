import { expect, test } from 'vitest';
import { ObservationDelay } from '../../../simulator/store/observation-delay.ts';
import { aVm, NOW } from '../simulated.ts';

const at = (generation: number) => aVm(undefined, undefined, { generation });
const lagging = (text: string) => ({
  metadata: { name: 'kubevirt', annotations: { 'sim.drover.dev/spec-observation-delay': text } },
});

test('a changed spec is seen later, if the cluster says so, and each look says when', () => {
  const lag = new ObservationDelay();
  lag.observe('a', at(1), at(2), lagging('2s'), NOW);
  expect(lag.see('a', at(2), NOW)).toEqual({ vm: at(1), again: 2000 });
  expect(lag.see('a', at(2), NOW + 1999)).toEqual({ vm: at(1), again: 1 });
  lag.observe('a', at(2), at(3), lagging('2s'), NOW + 1000);
  expect(lag.see('a', at(3), NOW + 1999)).toEqual({ vm: at(1), again: 1 });
  expect(lag.see('a', at(3), NOW + 2000)).toEqual({ vm: at(3) });
});

test('everything else is seen at once', () => {
  const lag = new ObservationDelay();
  lag.observe('a', at(1), at(2), undefined, NOW);
  lag.observe('b', at(1), at(1), lagging('2s'), NOW);
  lag.observe('c', undefined, at(1), lagging('2s'), NOW);
  lag.observe('d', at(1), at(2), lagging('2s'), NOW);
  lag.observe('d', at(2), undefined, lagging('2s'), NOW);
  for (const key of ['a', 'b', 'c', 'd']) expect(lag.see(key, at(2), NOW)).toEqual({ vm: at(2) });
});
