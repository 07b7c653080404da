import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { CacheChange } from '../../../activities/cache/objects/cache-change.ts';
import { BudgetTallies } from '../../../activities/disruption-budget/budget-tallies.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { VmKeeper } from '../../../decisions/disruption-budget/any-vms/counts.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { isOwnedBy, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { budgetOf } from '../../decisions/disruption-budget/any-vms/fixtures.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

/** A worker's caches, as far as tallies read them. */
function caches() {
  const vms = new Map<string, VmView>();
  const vmis = new Map<string, VmiView>();
  const nodes = new Map<string, { name: string; isLost: boolean }>();
  const kept = { pool: new Map<string, VmKeeper>(), 'replica set': new Map<string, VmKeeper>() };
  const namespaces = new Map<string, Record<string, string>>();
  const budgets = new Map<string, StoredBudget>();
  const listeners: ((change: CacheChange) => void)[] = [];
  const ownedBy = (kind: VmOwnerKind, owner: VmKeeper['metadata']) =>
    [...vms.values()].filter((vm) => isOwnedBy(vm, kind, owner));
  const cache = {
    budgets,
    vms: { get: (key: string) => vms.get(key), values: () => vms.values(), ownedBy },
    vmiOf(vm: VmView) {
      const vmi = vmis.get(namespacedName(vm));
      return vmi && { ...vmi, nodeLost: nodes.get(vmi.node!)?.isLost ?? false };
    },
    pools: kept.pool,
    replicaSets: kept['replica set'],
    namespaces,
    nodes,
    vmisByNode: { of: (node: string) => [...vmis.values()].filter((vmi) => vmi.node === node) },
    subscribe: (listener: (change: CacheChange) => void) => void listeners.push(listener),
  } as unknown as ClusterCache;
  const all = { vm: vms, vmi: vmis, node: nodes, budget: budgets, ...kept };
  const tell = (change: object): void => listeners.forEach((listener) => listener(change as CacheChange));
  const set = (kind: keyof typeof all, key: string, after: object | null): void => {
    const of = all[kind] as Map<string, object>;
    const before = of.get(key);
    if (after === null) of.delete(key);
    else of.set(key, after);
    if (before !== undefined || after !== null) tell({ kind, before, after: after ?? undefined });
  };
  const label = (namespace: string, labels: Record<string, string>): void => {
    namespaces.set(namespace, labels);
    tell({ kind: 'namespace' });
  };
  return { cache, set, label };
}

const where = { namespace: fc.constantFrom('shop', 'shop', 'bank'), app: fc.constantFrom('db', 'web') };
const KINDS = ['VirtualMachinePool', 'VirtualMachinePool', 'VirtualMachineReplicaSet'] as const;
const owner = fc.record({
  kind: fc.constantFrom(...KINDS),
  name: fc.constant('web'),
  uid: fc.constantFrom('one', 'one', 'one', 'two'),
});
const change = fc.record({
  of: fc.constantFrom('vm', 'vm', 'vm', 'vmi', 'node', 'keeper', 'keeper', 'namespace', 'budget'),
  isGone: fc.constantFrom(false, false, false, true),
  isRead: fc.boolean(),
  ...where,
  vm: fc.record({
    name: fc.constant('db-1'),
    owner: fc.option(owner),
    deleting: fc.boolean(),
    role: fc.constantFrom<VmView['role']>(null, 'Surge'),
  }),
  ready: fc.boolean(),
  node: fc.constantFrom('a', 'b'),
  keeper: owner,
  replicas: fc.nat(2),
  budget: fc.nat(2),
});

const BUDGETS = [
  budgetOf({ maxUnavailable: 1 }, { uid: '0', name: 'db' }),
  budgetOf({ maxUnavailable: 1, selector: {} }, { uid: '1', name: 'bank', namespace: 'bank' }),
  budgetOf(
    { maxUnavailable: 1, namespaceSelector: { matchLabels: { app: 'db' } } },
    { uid: '2', name: 'all', namespace: undefined as never },
  ),
];

function says(tallies: BudgetTallies) {
  const counted = [...tallies.index.values()].map((budget) => {
    const { matched, total, missing, down } = tallies.tally(budget);
    return [budget.metadata.uid, matched, { ...total }, missing, new Map(down)] as const;
  });
  return new Map(counted.map(([uid, ...tally]) => [uid, tally]));
}

test('a worker that has followed all changes counts as one does that begins now', () =>
  fc.assert(
    fc.property(fc.array(change, { minLength: 10, maxLength: 40 }), (changes) => {
      const { cache, set, label } = caches();
      const tallies = new BudgetTallies(cache);
      let generation = 1;
      for (const budget of BUDGETS) set('budget', budget.metadata.uid, budget);
      for (const { of, isGone, isRead, namespace, app, ...to } of changes) {
        const key = `${namespace}/${to.vm.name}`;
        const ownLabels = { app };
        const identified = <T extends typeof to.keeper>(one: T): T => ({
          ...one,
          uid: `${namespace} ${one.kind} ${one.uid}`,
        });
        const vm = aVm(to.vm.name, { namespace, ownLabels, ...to.vm, owner: to.vm.owner && identified(to.vm.owner) });
        if (of === 'vm') set('vm', key, isGone ? null : vm);
        if (of === 'vmi') set('vmi', key, isGone ? null : aVmi(vm, { ready: to.ready, node: to.node }));
        if (of === 'node') set('node', to.node, isGone ? null : { name: to.node, isLost: to.ready });
        if (of === 'namespace') label(namespace, ownLabels);
        if (of === 'keeper') {
          const { kind, name, uid } = identified(to.keeper);
          const template = { metadata: { labels: ownLabels }, ...aPool().spec.template };
          generation++;
          const pool = aPool({ replicas: to.replicas, template }, { namespace, name, uid, generation });
          set(
            kind === 'VirtualMachinePool' ? 'pool' : 'replica set',
            `${namespace}/${name}`,
            isGone ? null : { ...pool, kind },
          );
        }
        if (of === 'budget') {
          const { metadata, spec } = BUDGETS[to.budget]!;
          generation++;
          const changed = {
            metadata: { ...metadata, generation },
            spec: { ...spec, selector: { matchLabels: ownLabels } },
          };
          set('budget', metadata.uid, isGone ? null : changed);
        }
        if (isRead) expect(says(tallies)).toEqual(says(new BudgetTallies(cache)));
      }
      expect(says(tallies)).toEqual(says(new BudgetTallies(cache)));
    }),
    { numRuns: 600 },
  ));
