import { expect, test } from 'vitest';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { VirtualMachineOperations } from '../../../api/resources.ts';
import { applyPolicies } from '../../../clients/setup/crds.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { until } from '../../integration/fleet.ts';
import { TestOperation, userWith, type Right } from '../../integration/operations/operations.ts';
import { anApiServer } from '../api-server.ts';

const server = anApiServer();
const namespace = 'default';
const BOTH = ['virtualmachinedisruptionbudgets', 'clustervirtualmachinedisruptionbudgets'];

const restarts = [
  {
    apiGroups: ['drover.dev'],
    resources: ['virtualmachineoperations', 'clustervirtualmachineoperations'],
    verbs: ['create', 'patch'],
  },
  { apiGroups: ['subresources.kubevirt.io'], resources: ['virtualmachines/restart'], verbs: ['update'] },
  { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: ['patch'] },
];
const overrides = (...resources: string[]) => ({ apiGroups: ['drover.dev'], resources, verbs: ['override'] });

let made = 0;
const asks = (kube: KubeClient, spec: Partial<OperationSpec> = {}, within: string | null = namespace) =>
  TestOperation.make(
    kube,
    within ?? undefined,
    { pastBudgets: true, paused: true, ...spec },
    { name: `past-${++made}` },
  ).then(
    () => 'made',
    ({ message }: Error) => /may not .* past the disruption budgets of [^:]*/.exec(message)?.[0] ?? message,
  );
const refused = (scope: string) => `may not disrupt VMs past the disruption budgets of ${scope}`;

test('only a user who may override both kinds of budgets makes an operation that goes past them', async () => {
  const { client, stack } = server();
  const user = (name: string, rules: Right[], clusterRules: Right[]) =>
    userWith({ kube: client, stack }, namespace, name, rules, clusterRules);
  const none = await user('none', [], restarts);
  const own = await user('own', [overrides(...BOTH)], restarts);
  const both = await user('both', [overrides(BOTH[0]!)], [...restarts, overrides(BOTH[1]!)]);
  const all = await user('all', [], [...restarts, overrides(...BOTH)]);
  await applyPolicies(client, { dryRun: false, say: () => {} });
  // The API server takes a moment to know them.
  await until(async () => expect(await asks(none.kube)).toBe(refused('namespace default')));
  expect(await asks(none.kube, { pastBudgets: false })).toBe('made');
  // No right in a namespace is one over what is cluster-wide.
  expect(await asks(own.kube)).toBe(refused('namespace default'));
  expect(await asks(both.kube)).toBe('made');
  expect(await asks(both.kube, {}, null)).toBe(refused('all namespaces'));
  expect(await asks(all.kube, {}, null)).toBe('made');
  // As many names as are checked one by one, and two rights for each: the API server limits what a policy may cost.
  const names = Array.from({ length: 12 }, (_, index) => `db-${index}`);
  const patch = { action: 'Patch', patch: { merge: '{}', restart: true }, vms: { names } } as const;
  expect(await asks(all.kube, patch)).toBe('made');

  const key = { namespace, name: 'theirs' };
  const change = (kube: KubeClient, spec: Partial<OperationSpec>): Promise<unknown> =>
    kube.patch(VirtualMachineOperations, key, 'merge', { spec });
  await TestOperation.make(all.kube, namespace, { pastBudgets: true, paused: true }, { name: 'theirs' });
  await expect(change(none.kube, { paused: false })).rejects.toThrow(refused('namespace default'));
  await expect(change(all.kube, { pastBudgets: false })).rejects.toThrow('may change only paused');
  await change(both.kube, { paused: false });
});
