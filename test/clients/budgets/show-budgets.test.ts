import { expect, test, vi } from 'vitest';
import {
  ClusterVirtualMachineDisruptionBudgets,
  Namespaces,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { showBudgets } from '../../../clients/budgets/show-budgets.ts';
import type { Session } from '../../../clients/session/session.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aBudget } from '../../api/budgets/budgets.ts';

const META = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const vm = (name: string, namespace: string) => ({
  metadata: { ...META, name, namespace, uid: name, labels: { app: 'db' } },
  spec: { runStrategy: 'Always', template: {} },
  status: { printableStatus: 'Starting' },
});
const own = aBudget();
const { namespace: _, ...clusterWide } = { ...own.metadata, uid: 'all' };
const all = {
  ...own,
  kind: ClusterVirtualMachineDisruptionBudgets.kind,
  metadata: clusterWide,
  spec: { ...own.spec, namespaceSelector: { matchLabels: { team: 'shop' } } },
};
const LISTS = new Map<Resource, object[]>([
  [VirtualMachineDisruptionBudgets, [own]],
  [ClusterVirtualMachineDisruptionBudgets, [all]],
  [VirtualMachines, [vm('db-1', 'shop'), vm('db-2', 'lab')]],
  [VirtualMachineInstances, []],
  [Namespaces, [{ metadata: { ...META, name: 'shop', labels: { team: 'shop' } } }, { metadata: { name: 'lab' } }]],
]);

/** Prints what the command does for a user who may not list these kinds. */
async function shown(args: string[], flags: Parameters<typeof showBudgets>[1] = {}, ...hidden: Resource[]) {
  const list = async (resource: Resource, { namespace }: { namespace?: string } = {}) => {
    if (hidden.includes(resource)) throw new KubeError(403, 'Forbidden', 'no');
    const items = LISTS.get(resource)! as (typeof own)[];
    return { items: items.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace) };
  };
  const session = { kube: async () => ({ list }), namespace: async () => 'shop' } as unknown as Session;
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  try {
    await showBudgets(session, flags, ...args);
  } finally {
    write.mockRestore();
  }
  return lines.join('');
}

test('a name stands for the budget of the namespace and the cluster-wide one, and cvmdb/NAME for that alone', async () => {
  expect(await shown([])).toMatch(/\n<cluster> +db .*\nshop +db /);
  expect(await shown(['db'])).toMatch(/^cluster-wide disruption budget db {2}[^]*\ndisruption budget shop\/db {2}/);
  expect(await shown(['cvmdb/db'])).toMatch(/^cluster-wide disruption budget db {2}/);
  expect(await shown(['cvmdb/db'])).not.toContain('shop/db ');
  await expect(shown(['web'])).rejects.toThrow('there is no disruption budget web');
  await expect(shown(['pool/db'])).rejects.toThrow('this command takes vmdb or cvmdb');
});

test('VMs that are down are named, of the namespaces that the budget selects', async () => {
  expect(await shown(['vmdb/db'])).toContain('shop/db-1 is not available');
  const ofAll = await shown(['cvmdb/db']);
  expect(ofAll).toContain('shop/db-1 is not available');
  expect(ofAll).not.toContain('lab/db-2');
});

test('nothing is shown that the user may not see', async () => {
  expect(await shown([], {}, ClusterVirtualMachineDisruptionBudgets)).not.toContain('<cluster>');
  expect(await shown(['db'], {}, VirtualMachines)).toContain('which VMs are not available is not shown');
});

test('programs get the objects, and names', async () => {
  expect(JSON.parse(await shown(['vmdb/db'], { output: 'json' }))).toMatchObject({ kind: own.kind });
  expect(await shown([], { output: 'name' })).toBe(
    'clustervirtualmachinedisruptionbudget.drover.dev/db\nvirtualmachinedisruptionbudget.drover.dev/db\n',
  );
});
