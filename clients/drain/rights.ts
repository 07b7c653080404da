import {
  ClusterVirtualMachineDisruptionBudgets,
  Nodes,
  Pods,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachineOperations,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { formatRight, hasRight, type Right } from '../../kubernetes/rights.ts';
import { Failure } from '../cli/failure.ts';

/** What users need, in the whole cluster and in the namespaces of the VMs on the node, as `kubectl drain` does. */
interface NodeRights {
  inCluster: readonly Right[];
  inNamespaces: readonly Right[];
}

export const TO_DRAIN: NodeRights = {
  inCluster: [
    { verb: 'patch', resource: Nodes },
    { verb: 'list', resource: Pods },
    // An eviction asks no budget: who does not see them would disrupt more VMs than they allow.
    { verb: 'list', resource: VirtualMachineDisruptionBudgets },
    { verb: 'list', resource: ClusterVirtualMachineDisruptionBudgets },
  ],
  inNamespaces: [{ verb: 'create', resource: Pods, subresource: 'eviction' }],
};

/** For VMs that drover moves within disruption budgets. */
export const TO_PACE: NodeRights = {
  inCluster: [],
  inNamespaces: [{ verb: 'create', resource: VirtualMachineOperations }],
};

/** For VMs that are to wait for no disruption budget. */
export const TO_OVERRIDE: NodeRights = {
  inCluster: [{ verb: 'override', resource: ClusterVirtualMachineDisruptionBudgets }],
  inNamespaces: [{ verb: 'override', resource: VirtualMachineDisruptionBudgets }],
};

export const TO_ABORT: NodeRights = {
  inCluster: [],
  inNamespaces: [{ verb: 'patch', resource: VirtualMachineOperations }],
};

export const TO_CANCEL: NodeRights = {
  inCluster: [{ verb: 'patch', resource: Nodes }],
  inNamespaces: [
    {
      verb: 'update',
      resource: { group: 'subresources.kubevirt.io', plural: VirtualMachineInstances.plural },
      subresource: 'evacuate/cancel',
    },
  ],
};

/** Throws `Failure` with all that the user may not, so that nothing is begun that would stop half-way. */
export async function ensureRights(
  kube: KubeClient,
  { inCluster, inNamespaces }: NodeRights,
  namespaces: ReadonlySet<string>,
): Promise<void> {
  const needed: [Right, string | undefined][] = [
    ...inCluster.map((right): [Right, undefined] => [right, undefined]),
    ...[...namespaces].flatMap((namespace) => inNamespaces.map((right): [Right, string] => [right, namespace])),
  ];
  const missing = await Promise.all(
    needed.map(async ([right, namespace]) =>
      (await hasRight(kube, right, namespace))
        ? []
        : [`${formatRight(right)}${namespace === undefined ? '' : ` in ${namespace}`}`],
    ),
  );
  const lacking = missing.flat();
  if (lacking.length > 0) throw new Failure(`nothing was changed: you may not ${lacking.join(', nor ')}`);
}
