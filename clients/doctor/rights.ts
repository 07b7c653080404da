import { ServiceAccounts, VirtualMachineOperations, VirtualMachinePools } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { formatRight, hasRight, type Right } from '../../kubernetes/rights.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import { call, failed, ok, unknown, warning, type Looked } from './finding.ts';
import workerRules from './worker-rules.json' with { type: 'json' };

const WANTED: { right: Right; by: string }[] = [
  { right: { verb: 'list', resource: VirtualMachinePools }, by: 'drover-view' },
  { right: { verb: 'patch', resource: VirtualMachinePools }, by: 'drover-edit' },
  { right: { verb: 'create', resource: VirtualMachineOperations }, by: 'drover-operator' },
];

/** Looks at what the user of this command may do in the namespace. Reading alone is fine, and said. */
export async function lookAtUser(kube: KubeClient, namespace: string): Promise<Looked> {
  const answers = await Promise.all(WANTED.map(({ right }) => hasRight(kube, right, namespace, call().signal)));
  const missing = WANTED.filter((_, index) => answers[index] === false);
  if (missing.length === 0) return ok(`you may see and change pools, and make operations, in namespace ${namespace}`);
  return missing.map(({ right, by }) =>
    warning(
      `you may not ${formatRight(right)} in namespace ${namespace}`,
      `if you need this, have the ClusterRole ${by} bound to you there`,
    ),
  );
}

/** The workers' ServiceAccount. */
export interface WorkerAccount {
  namespace: string;
  name: string;
}

/** At once: the answers come from the API server's memory. */
const AT_ONCE = 16;

/**
 * Asks the API server whether the workers' ServiceAccount has each right that a worker uses. `within`: the namespace,
 * if it is left to its own workers; undefined for those of the whole cluster.
 */
export async function lookAtWorkerRights(
  kube: KubeClient,
  { namespace, name }: WorkerAccount,
  within: string | undefined,
): Promise<Looked> {
  const there = await ignoreNotFound(kube.get(ServiceAccounts, { namespace, name }, call()));
  if (there === undefined)
    return unknown(
      `there is no ServiceAccount ${name} in namespace ${namespace}: name the account of your workers with --worker`,
    );
  const needed = rightsIn(within === undefined ? workerRules.cluster : workerRules.namespaced);
  const account = {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
  const allowed = await mapAtOnce(needed, AT_ONCE, (right) => hasRight(kube, right, within, call().signal, account));
  const missing = needed.filter((_, index) => allowed[index] === false);
  const who = `ServiceAccount ${name} in namespace ${namespace}`;
  if (missing.length === 0) return ok(`${who} has the ${needed.length} rights of a worker`);
  const where = within === undefined ? 'all namespaces' : `namespace ${within}`;
  return failed(
    `${who} lacks ${missing.length} of the ${needed.length} rights of a worker in ${where}: ${missing.map(formatRight).join(', ')}`,
    `apply drover's ${within === undefined ? 'ClusterRole' : 'Role'} drover-worker of this release, and bind it to the ServiceAccount`,
  );
}

/** Reads rights such as `virtualmachinepools.drover.dev/status get,patch`, or `namespaces get NAME`. */
const rightsIn = (rules: readonly string[]): Right[] =>
  rules.flatMap((rule) => {
    const [path = '', verbs = '', name] = rule.split(' ');
    const [, plural = '', group = '', subresource] = /^(\w[\w-]*)\.?([^/]*)\/?(.*)$/.exec(path) ?? [];
    const target = { ...(subresource ? { subresource } : {}), ...(name === undefined ? {} : { name }) };
    return (verbs.split(',') as Right['verb'][]).map((verb) => ({ verb, resource: { group, plural }, ...target }));
  });
