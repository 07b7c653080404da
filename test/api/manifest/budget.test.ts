import { expect, test } from 'vitest';
import { parseManifests } from '../../../api/manifest/manifest.ts';
import { budgetManifest } from '../budgets/budgets.ts';

const read = (spec: object, more: object = {}) =>
  parseManifests(JSON.stringify({ ...budgetManifest(spec), ...more }), 'budget.yaml')[0]!;
const clusterWide = { kind: 'ClusterVirtualMachineDisruptionBudget', metadata: { name: 'db' } };

test('a budget of either kind is read as it is written, without what drover and the API server keep', () => {
  const spec = { maxUnavailable: 1, reasons: ['Drain'] };
  expect(read(spec)).toMatchObject({ object: budgetManifest(spec), notes: [] });
  const status = { observedGeneration: 3 };
  const { object, notes } = read({ ...spec, namespaceSelector: {} }, { ...clusterWide, status });
  expect(object.spec).toHaveProperty('namespaceSelector', {});
  expect(object).not.toHaveProperty('status');
  expect(notes).toEqual(['status is left out: drover writes it']);
});

test.each([
  [{ maxUnavailable: 1, windows: [{ cron: '0 25 * * *', duration: '1h' }], outside: 'Deny' }, 'hour 25 is not'],
  [{ maxUnavailable: 1, windows: [{ cron: '0 0 31 2 *', duration: '1h' }], outside: 'Deny' }, 'it never runs'],
  [
    { windows: [{ cron: '0 8 * * *', duration: '1h', timeZone: 'Europe/Zurihc' }], outside: 'Deny' },
    'did you mean Europe/Zurich?',
  ],
  [{ maxUnavailable: 1, namespaceSelector: {} }, 'only a ClusterVirtualMachineDisruptionBudget selects namespaces'],
  [{ maxUnavailble: 1 }, 'did you mean maxUnavailable?'],
])('%j is refused with what would be right', (spec, message) => {
  expect(() => read(spec)).toThrow(message);
});

test.each([{ maxUnavailable: 0 }, { maxUnavailable: '0%' }, { minAvailable: '100%' }])(
  'a budget with %j is allowed, and its author told what waits for it',
  (spec) => {
    expect(read(spec).notes).toEqual([
      expect.stringMatching(/^spec\.\w+: drover never disrupts these VMs: drains of their nodes wait until/),
    ]);
  },
);
