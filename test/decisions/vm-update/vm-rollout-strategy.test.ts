import { expect, test } from 'vitest';
import { strategyOf } from '../../../decisions/vm-update/vm-rollout-strategy.ts';

test('what the cluster says holds', () => {
  expect(strategyOf({ strategy: 'Stage', liveUpdateGate: false, version: 'v1.8.0' })).toBe('Stage');
  expect(strategyOf({ strategy: 'LiveUpdate', liveUpdateGate: false, version: 'v1.5.0' })).toBe('LiveUpdate');
  expect(strategyOf({ strategy: 'LiveUpdate', liveUpdateGate: false, version: null })).toBe('LiveUpdate');
});

test.each([
  ['v1.4.1', false, 'Stage'],
  ['v1.4.1', true, 'LiveUpdate'],
  ['v1.2.0', false, 'Stage'],
  ['v1.2.0', true, 'LiveUpdate'],
  ['v1.1.0', true, 'Stage'],
  ['v1.5.0', false, 'LiveUpdate'],
] as const)('LiveUpdate in KubeVirt %s, with its feature gate: %s, means %s', (version, liveUpdateGate, strategy) => {
  expect(strategyOf({ strategy: 'LiveUpdate', liveUpdateGate, version })).toBe(strategy);
});

test.each([
  ['v1.2.0', 'Stage'],
  ['v1.5.3', 'Stage'],
  ['v1.6.0', 'LiveUpdate'],
  ['v1.6.0-beta.0', 'LiveUpdate'],
  ['v1.10.1', 'LiveUpdate'],
  ['v0.59.0', 'Stage'],
  ['v2.0.0', 'LiveUpdate'],
  ['1.5.0', 'Stage'],
  ['v1.8.0-simulated', 'LiveUpdate'],
  ['devel', 'LiveUpdate'],
  ['', 'LiveUpdate'],
  [null, 'LiveUpdate'],
] as const)('if it says nothing, KubeVirt %s means %s', (version, strategy) => {
  expect(strategyOf({ strategy: null, liveUpdateGate: false, version })).toBe(strategy);
});

test('a cluster without the object is taken for one of today', () => {
  expect(strategyOf(undefined)).toBe('LiveUpdate');
});
