import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BudgetIndex, selects } from '../../../../decisions/disruption-budget/any-vms/budget-index.ts';
import type { StoredBudget } from '../../../../decisions/disruption-budget/stored-budget.ts';
import { aDb, budgetOf } from './fixtures.ts';

const key = fc.constantFrom('app', 'tier', 'zone');
const value = fc.constantFrom('a', 'b');
const labels = fc.dictionary(key, value);
const expression = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
  fc.record({
    key,
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.array(value, { minLength: 1 }),
  }),
);
const selector = fc.record({ matchLabels: labels, matchExpressions: fc.array(expression) }, { requiredKeys: [] });
const budget = fc
  .record({ n: fc.nat(9), namespace: fc.constantFrom('shop', 'bank', undefined), selector, isSelective: fc.boolean() })
  .map(({ n, namespace, isSelective, ...spec }): StoredBudget => {
    const { namespace: _own, ...metadata } = budgetOf({}).metadata;
    const namespaceSelector = { matchLabels: { tier: 'a' } };
    return {
      ...budgetOf({ ...spec, ...(namespace === undefined && isSelective && { namespaceSelector }) }),
      // The names come after those of the namespaces: a cluster-wide budget is first all the same.
      metadata: { ...metadata, ...(namespace !== undefined && { namespace }), name: `t${n}`, uid: `${namespace} ${n}` },
    };
  });
const rank = ({ metadata }: StoredBudget): string => `${metadata.namespace ?? ''} ${metadata.name}`;
const labelsOf = (namespace: string) => ({ shop: { tier: 'a' }, bank: {} })[namespace];

test('an index finds the budgets of a VM that selection one by one would find, cluster-wide ones first, by name', () =>
  fc.assert(
    fc.property(
      fc.array(budget),
      fc.array(fc.nat(9)),
      labels,
      fc.constantFrom('shop', 'bank'),
      (all, gone, own, namespace) => {
        const index = new BudgetIndex(labelsOf);
        const known = new Map<string, StoredBudget>();
        for (const one of all) {
          index.change(known.get(one.metadata.uid), one);
          known.set(one.metadata.uid, one);
        }
        for (const n of gone) {
          const [before] = [...known.values()].slice(n);
          index.change(before, undefined);
          known.delete(before?.metadata.uid ?? '');
        }
        const vm = aDb('db-1', { namespace, ownLabels: own });
        const selected = [...known.values()].filter((one) => selects(one, vm, labelsOf));
        expect(index.of(vm)).toEqual(selected.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)));
      },
    ),
    { numRuns: 300 },
  ));

test('a budget selects by the labels in the VM’s own metadata, and not by those of its VMI template', () => {
  const vm = aDb('db-1', { ownLabels: {}, labels: { app: 'db' } });
  expect([selects(budgetOf({}), vm, labelsOf), selects(budgetOf({}), aDb('db-1'), labelsOf)]).toEqual([false, true]);
});

test('a budget of another namespace selects no VM', () => {
  const vm = aDb('db-1', { namespace: 'bank' });
  expect([selects(budgetOf({}), vm, labelsOf), selects(budgetOf({}, { namespace: 'bank' }), vm, labelsOf)]).toEqual([
    false,
    true,
  ]);
});

test('a budget holds in a namespace whose labels are not known', () => {
  const selective = budgetOf({ namespaceSelector: { matchLabels: { tier: 'a' } } });
  const { namespace: _own, ...metadata } = selective.metadata;
  expect(selects({ ...selective, metadata }, aDb('db-1', { namespace: 'new' }), labelsOf)).toBe(true);
  expect(selects({ ...selective, metadata }, aDb('db-1', { namespace: 'bank' }), labelsOf)).toBe(false);
});

test('a VM costs a look at no budget of another label, however many there are', () => {
  const index = new BudgetIndex(labelsOf);
  const looked: string[] = [];
  for (let n = 0; n < 100; n++) {
    const { spec, ...one } = budgetOf(
      { selector: { matchLabels: { app: `app-${n}` } } },
      { uid: `${n}`, name: `b${n}` },
    );
    let isIndexed = false;
    const watched = {
      ...one,
      get spec() {
        if (isIndexed) looked.push(one.metadata.name);
        return spec;
      },
    };
    index.change(undefined, watched);
    isIndexed = true;
  }
  const found = index.of(aDb('db-1', { ownLabels: { app: 'app-7' } }));
  expect([found.map(({ metadata }) => metadata.name), [...new Set(looked)]]).toEqual([['b7'], ['b7']]);
});
