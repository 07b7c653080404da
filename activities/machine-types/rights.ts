import { cancellationSignal } from '@temporalio/activity';
import {
  SelfSubjectAccessReviews,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';

/** A permission that a worker needs, in every namespace in scope. */
export interface Right {
  verb: 'create' | 'patch' | 'delete' | 'update';
  resource: Pick<Resource, 'group' | 'plural'>;
  subresource?: string;
}

interface AccessReview {
  metadata: { name: string };
  spec: {
    resourceAttributes: { verb: string; group: string; resource: string; subresource?: string; namespace?: string };
  };
  status?: { allowed?: boolean };
  [field: string]: unknown;
}

const PATCH_VMS: Right = { verb: 'patch', resource: VirtualMachines };
const PATCH_POOLS: Right = { verb: 'patch', resource: VirtualMachinePools };
const RESTARTS: Right[] = [
  { verb: 'delete', resource: VirtualMachineInstances },
  {
    verb: 'update',
    resource: { group: 'subresources.kubevirt.io', plural: VirtualMachines.plural },
    subresource: 'restart',
  },
];

export const rightsFor = ({ restarts, pools }: { restarts: boolean; pools: boolean }): Right[] => [
  PATCH_VMS,
  ...(pools ? [PATCH_POOLS] : []),
  ...(restarts ? RESTARTS : []),
];

/**
 * Returns those of the rights that the worker lacks in some of the namespaces (null: all of them), in words: `patch
 * virtualmachines.kubevirt.io`.
 */
export async function missingRights(
  client: KubeClient,
  rights: readonly Right[],
  namespaces: readonly string[] | null,
): Promise<string[]> {
  const missing: string[] = [];
  try {
    for (const right of rights) {
      for (const namespace of namespaces ?? [undefined]) {
        if (!(await may(client, right, namespace))) missing.push(inWords(right, namespace));
      }
    }
    return missing;
  } catch (error) {
    if (error instanceof KubeError && error.status === 403)
      return [inWords({ verb: 'create', resource: SelfSubjectAccessReviews }, undefined)];
    throw error;
  }
}

async function may(
  client: KubeClient,
  { verb, resource: { group, plural }, subresource }: Right,
  namespace: string | undefined,
): Promise<boolean> {
  const asked = {
    verb,
    group,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const review: AccessReview = { metadata: { name: '' }, spec: { resourceAttributes: asked } };
  const { status } = await client.create<AccessReview>(SelfSubjectAccessReviews, review, {
    signal: cancellationSignal(),
  });
  return status?.allowed === true;
}

function inWords({ verb, resource: { group, plural }, subresource }: Right, namespace: string | undefined): string {
  const what = `${verb} ${plural}.${group}${subresource === undefined ? '' : `/${subresource}`}`;
  return namespace === undefined ? what : `${what} in ${namespace}`;
}
