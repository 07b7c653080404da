import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SelectionPolicy } from '../../../api/pool/pool.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import { scaleInOrder } from '../../../decisions/scaling/selection-order.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { anyFleet, aVm } from '../fixtures/fleets.ts';

const order = (vms: Parameters<typeof scaleInOrder>[0], policy?: SelectionPolicy): string[] =>
  scaleInOrder(vms, policy === undefined ? {} : { policy }).map((vm) => vm.name);

const isNew = ({ revision }: VmView): boolean | 'unknown' => (revision === null ? 'unknown' : revision === 'new');

describe('the order of scale-in', () => {
  const halted = { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' };
  const vms = [
    aVm('web-1', { createdAt: 3 }),
    aVm('web-2', { createdAt: 1, labels: { tier: 'spare' } }),
    aVm('web-3', {
      createdAt: 2,
      ready: false,
      state: 'Starting',
      nodeSelector: { rack: 'r7' },
    }),
    aVm('web-4', { createdAt: 4, ...halted }),
    aVm('web-5', { createdAt: 5, ready: false, startFailures: 2 }),
  ];

  test.each<[string, SelectionPolicy, string[]]>([
    ['Oldest', { basePolicy: 'Oldest' }, ['web-5', 'web-2', 'web-3', 'web-1', 'web-4']],
    ['Newest', { basePolicy: 'Newest' }, ['web-5', 'web-4', 'web-1', 'web-3', 'web-2']],
    ['HighestNumber', { basePolicy: 'HighestNumber' }, ['web-5', 'web-4', 'web-3', 'web-2', 'web-1']],
    ['LowestNumber', { basePolicy: 'LowestNumber' }, ['web-5', 'web-1', 'web-2', 'web-3', 'web-4']],
    [
      'nodes that VMs ask for',
      { orderedPolicies: [{ nodeSelector: { matchLabels: { rack: 'r7' } } }], basePolicy: 'LowestNumber' },
      ['web-5', 'web-3', 'web-1', 'web-2', 'web-4'],
    ],
    [
      'labels and nodes, of which both must match',
      {
        orderedPolicies: [
          { labelSelector: { matchLabels: { tier: 'spare' } }, nodeSelector: { matchLabels: { rack: 'r7' } } },
        ],
        basePolicy: 'HighestNumber',
      },
      ['web-5', 'web-4', 'web-3', 'web-2', 'web-1'],
    ],
    [
      'ordered policies come before the base policy',
      { orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'spare' } } }], basePolicy: 'Newest' },
      ['web-5', 'web-2', 'web-4', 'web-1', 'web-3'],
    ],
  ])('%s', (_name, policy, names) => {
    expect(order(vms, policy)).toEqual(names);
  });

  test('Random takes the least disruption first: broken, halted, not ready, ready', () => {
    expect(order(vms).slice(0, 3)).toEqual(['web-5', 'web-4', 'web-3']);
    expect(order(vms)).toHaveLength(5);
  });

  test('Random takes a VM that still needs the update before an updated one, among equals', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { minLength: 3, maxLength: 3 }), ([one = '', two = '', three = '']) => {
        const canary = aVm('web-1', { uid: one, revision: 'new' });
        const [first, second, ...last] = scaleInOrder(
          [canary, aVm('web-2', { uid: two }), aVm('web-3', { uid: three })],
          {
            isUpdated: (vm) => vm.revision === 'new',
          },
        );
        expect(last).toEqual([canary]);
        expect([first, second]).not.toContain(canary);
      }),
    );
  });

  test('Random takes VMs that migrate after those that are not ready, and before those that serve', () => {
    const uids = fc.uniqueArray(fc.uuid(), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(uids, ([one = '', two = '', three = '']) => {
        const vms = [
          aVm('web-1', { uid: one }),
          aVm('web-2', { uid: two }),
          aVm('web-3', { uid: three, ready: false, state: 'Starting' }),
        ];
        const ordered = scaleInOrder(vms, { isMoving: ({ name }) => name !== 'web-1' });
        expect(ordered.map(({ name }) => name)).toEqual(['web-3', 'web-2', 'web-1']);
      }),
    );
  });

  test('a VM of an unknown revision, such as an attached one, leaves last among equals', () => {
    const uids = fc.uniqueArray(fc.uuid(), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(uids, ([one = '', two = '', three = '']) => {
        const vms = [
          aVm('web-1', { uid: one, revision: null }),
          aVm('web-2', { uid: two, revision: 'new' }),
          aVm('web-3', { uid: three, revision: 'old' }),
        ];
        expect(scaleInOrder(vms, { isUpdated: isNew }).map(({ name }) => name)).toEqual(['web-3', 'web-2', 'web-1']);
      }),
    );
  });

  test('a VM that users have put into the pool leaves after all others that work, whatever the policy says', () => {
    const bases = fc.constantFrom('Oldest', 'Newest', 'Random' as const);
    const atRest = { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' };
    const working = fc.record({ createdAt: fc.nat(9), revision: fc.constantFrom('old', 'new', null), uid: fc.uuid() });
    const others = fc.array(working, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(bases, others, working, fc.boolean(), (basePolicy, fields, own, isHalted) => {
        const joined = aVm('borrowed', { ...own, ...(isHalted ? atRest : {}), joined: true });
        const vms = [joined, ...fields.map((field, number) => aVm(`web-${number}`, field))];
        const ordered = scaleInOrder(vms, { policy: { basePolicy }, isUpdated: isNew });
        expect(ordered.at(-1)).toBe(joined);
      }),
    );
  });

  test('a VM that users have put into the pool leaves before others if it is broken, or by the order of labels', () => {
    fc.assert(
      fc.property(fc.constantFrom('Oldest', 'Newest', 'Random' as const), fc.boolean(), (basePolicy, isBroken) => {
        const orderedPolicies = [{ labelSelector: { matchLabels: { tier: 'spare' } } }];
        const fields = isBroken ? { startFailures: 1, ready: false } : { labels: { tier: 'spare' } };
        const vms = [aVm('web-1'), aVm('web-2', { ...fields, joined: true }), aVm('web-3')];
        expect(scaleInOrder(vms, { policy: { basePolicy, orderedPolicies } })[0]?.name).toBe('web-2');
      }),
    );
  });

  test.each(['Oldest', 'Newest'] as const)('%s is an order of age, which no revision changes', (basePolicy) => {
    const ordered = scaleInOrder(vms, { policy: { basePolicy }, isUpdated: ({ name }) => name !== 'web-2' }).map(
      ({ name }) => name,
    );
    expect(ordered).toEqual(order(vms, { basePolicy }));
  });

  test('the order is the same for the same fleet, in whatever order that is read', () => {
    fc.assert(
      fc.property(anyFleet, fc.constantFrom('Oldest', 'Newest', 'Random' as const), (fleet, basePolicy) => {
        expect(order(fleet.toReversed(), { basePolicy })).toEqual(order(fleet, { basePolicy }));
      }),
    );
  });
});

describe('label selectors', () => {
  const labels = { tier: 'front', zone: 'a' };
  test.each<[object, boolean]>([
    [{}, true],
    [{ matchLabels: { tier: 'front' } }, true],
    [{ matchLabels: { tier: 'back' } }, false],
    [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }, true],
    [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, false],
    [{ matchExpressions: [{ key: 'other', operator: 'NotIn', values: ['a'] }] }, true],
    [{ matchExpressions: [{ key: 'other', operator: 'In', values: ['a'] }] }, false],
    [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, false],
    [{ matchLabels: { tier: 'front' }, matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }, false],
  ])('%j', (selector, matches) => {
    expect(matchesLabels(selector, labels)).toBe(matches);
  });
});

test('the lower number counts as older among VMs that were made in one second', () => {
  const vms = [aVm('web-2'), aVm('web-10'), aVm('web-1')];
  expect(order(vms, { basePolicy: 'Oldest' })).toEqual(['web-1', 'web-2', 'web-10']);
  expect(order(vms, { basePolicy: 'Newest' })).toEqual(['web-10', 'web-2', 'web-1']);
});
