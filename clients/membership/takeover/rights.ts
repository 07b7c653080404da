import { eitherOf } from '../../../api/lib/listed.ts';
import {
  ControllerRevisions,
  KubeVirtPools,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { formatRight, hasRight, type Right } from '../../../kubernetes/access-review.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { Failure } from '../../cli/failure.ts';

export type Command = 'takeover' | 'release';

const on = (resource: Resource, ...verbs: Right['verb'][]): Right[] => verbs.map((verb) => ({ verb, resource }));

const OF_BOTH: readonly Right[] = [
  ...on(VirtualMachinePools, 'get', 'patch'),
  ...on(KubeVirtPools, 'get', 'patch'),
  ...on(VirtualMachines, 'get', 'list', 'patch'),
  ...on(VirtualMachineInstances, 'get', 'list', 'patch'),
];

/**
 * What the commands can't end without. They do without the rights on pods, on Events, and on the status of KubeVirt's
 * pools; a takeover also without those on ControllerRevisions.
 */
export const REQUIRED: Readonly<Record<Command, readonly Right[]>> = {
  takeover: [...OF_BOTH, ...on(VirtualMachinePools, 'create'), ...on(KubeVirtPools, 'delete')],
  release: [
    ...OF_BOTH,
    ...on(VirtualMachinePools, 'list', 'watch', 'delete'),
    ...on(KubeVirtPools, 'create'),
    ...on(ControllerRevisions, 'get', 'list', 'create', 'patch', 'delete'),
  ],
};

/**
 * Throws `Failure` if the person who runs the command lacks rights that it needs to end: it would hold the pool for
 * them before it was refused. Who may not ask is taken to have them.
 */
export async function checkRights(kube: KubeClient, command: Command, namespace: string): Promise<void> {
  const rights = REQUIRED[command];
  const isAllowed = await Promise.all(rights.map((right) => mayBeAllowed(kube, right, namespace)));
  const missing = rights.filter((_, index) => !isAllowed[index]).map(formatRight);
  if (missing.length === 0) return;
  throw new Failure(
    `nothing is begun: you may not ${eitherOf(missing)} in ${namespace} namespace, which a ${command} needs; ` +
      'the role drover-takeover has all that it needs',
  );
}

async function mayBeAllowed(kube: KubeClient, right: Right, namespace: string): Promise<boolean> {
  try {
    return await hasRight(kube, right, namespace);
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return true;
    throw error;
  }
}
