import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesLabels } from '../../../api/label-selector.ts';
import type { SelectionPolicy } from '../../../api/pool/pool.ts';
import { scaleInOrder } from '../../../decisions/scaling/selection-order.ts';
import { anyFleet, aVm } from '../model/fleets.ts';

const order = (vms: Parameters<typeof scaleInOrder>[0], policy?: SelectionPolicy): string[] =>
  scaleInOrder(vms, policy === undefined ? {} : { policy }).map((vm) => vm.name);

describe('the order of scale-in', () => {
  const halted = { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' };
  const vms = [
    aVm('web-1', { createdAt: 3 }),
    aVm('web-2', { createdAt: 1, labels: { tier: 'spare' } }),
    aVm('web-3', { createdAt: 2, ready: false, state: 'Starting' }),
    aVm('web-4', { createdAt: 4, ...halted }),
    aVm('web-5', { createdAt: 5, ready: false, startFailures: 2 }),
  ];

  test.each<[string, SelectionPolicy, string[]]>([
    ['Oldest', { basePolicy: 'Oldest' }, ['web-5', 'web-2', 'web-3', 'web-1', 'web-4']],
    ['Newest', { basePolicy: 'Newest' }, ['web-5', 'web-4', 'web-1', 'web-3', 'web-2']],
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

  test('Random lets a VM go that still needs the update before one that has it, among equals', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { minLength: 3, maxLength: 3 }), ([one = '', two = '', three = '']) => {
        const canary = aVm('web-1', { uid: one, revision: 'new' });
        const [first, second, ...last] = scaleInOrder(
          [canary, aVm('web-2', { uid: two }), aVm('web-3', { uid: three })],
          {
            isOutdated: (vm) => vm.revision !== 'new',
          },
        );
        expect(last).toEqual([canary]);
        expect([first, second]).not.toContain(canary);
      }),
    );
  });

  test('is the same for the same fleet, whatever the order it is read in', () => {
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

test('of VMs made in one second, the lower number counts as the older', () => {
  const vms = [aVm('web-2'), aVm('web-10'), aVm('web-1')];
  expect(order(vms, { basePolicy: 'Oldest' })).toEqual(['web-1', 'web-2', 'web-10']);
  expect(order(vms, { basePolicy: 'Newest' })).toEqual(['web-10', 'web-2', 'web-1']);
});
