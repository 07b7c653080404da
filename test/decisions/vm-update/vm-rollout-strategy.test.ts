import { describe, expect, test } from 'vitest';
import type { KubeVirtView } from '../../../decisions/views/kubevirt.ts';
import { plugsOf, strategyOf } from '../../../decisions/vm-update/vm-rollout-strategy.ts';

const gates = (on: string[], off: string[] = []): Pick<KubeVirtView, 'gates' | 'methods' | 'drainTaint'> => ({
  gates: { on, off },
  methods: [],
  drainTaint: null,
});
const NONE = gates([]);

test("the cluster's setting applies", () => {
  expect(strategyOf({ strategy: 'Stage', ...NONE, version: 'v1.8.0' })).toBe('Stage');
  expect(strategyOf({ strategy: 'LiveUpdate', ...NONE, version: 'v1.5.0' })).toBe('LiveUpdate');
  expect(strategyOf({ strategy: 'LiveUpdate', ...NONE, version: null })).toBe('LiveUpdate');
});

test.each([
  ['v1.4.1', false, 'Stage'],
  ['v1.4.1', true, 'LiveUpdate'],
  ['v1.2.0', false, 'Stage'],
  ['v1.2.0', true, 'LiveUpdate'],
  ['v1.1.0', true, 'Stage'],
  ['v1.5.0', false, 'LiveUpdate'],
] as const)('LiveUpdate in KubeVirt %s, with its feature gate: %s, means %s', (version, liveUpdateGate, strategy) => {
  expect(
    strategyOf({ strategy: 'LiveUpdate', ...gates(liveUpdateGate ? ['VMLiveUpdateFeatures'] : []), version }),
  ).toBe(strategy);
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
] as const)('a KubeVirt %s that says nothing means %s', (version, strategy) => {
  expect(strategyOf({ strategy: null, ...NONE, version })).toBe(strategy);
});

test('a cluster without the object is treated as a current one', () => {
  expect(strategyOf(undefined)).toBe('LiveUpdate');
});

const view = (fields: Partial<KubeVirtView>): KubeVirtView => ({
  strategy: null,
  version: 'v1.8.2',
  ...NONE,
  ...fields,
});

describe("KubeVirt's plugging of devices", () => {
  test('migrates VMIs only by its workload updates', () => {
    expect(plugsOf(view({})).migrates).toBe(false);
    expect(plugsOf(view({ methods: ['Evict'] })).migrates).toBe(false);
    expect(plugsOf(view({ methods: ['LiveMigrate', 'Evict'] })).migrates).toBe(true);
  });
  test.each<[title: string, fields: Partial<KubeVirtView>, volumes: boolean]>([
    ['before 1.9 without its gate', {}, false],
    ['before 1.9 with its gate', gates(['DeclarativeHotplugVolumes']), true],
    ['since 1.9', { version: 'v1.9.0' }, true],
    ['of an unknown version', { version: null }, true],
    ['that has it off', { version: 'v1.9.0', ...gates([], ['DeclarativeHotplugVolumes']) }, false],
    ['that plugs them in the older way', { version: 'v1.9.0', ...gates(['HotplugVolumes']) }, false],
  ])('volumes in KubeVirt %s', (_title, fields, volumes) => expect(plugsOf(view(fields)).volumes).toBe(volumes));
  test('includes all devices if there is no KubeVirt object', () =>
    expect(plugsOf(undefined)).toEqual({ migrates: true, volumes: true }));
});
