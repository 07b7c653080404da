import { SelfSubjectAccessReviews, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { formatRight, hasRight, type Right } from '../../kubernetes/rights.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';

/** Questions to the API server at once. */
const CONCURRENCY = 10;

const PATCH_VMS: Right = { verb: 'patch', resource: VirtualMachines };
const RESTARTS: Right[] = [
  { verb: 'delete', resource: VirtualMachineInstances },
  {
    verb: 'update',
    resource: { group: 'subresources.kubevirt.io', plural: VirtualMachines.plural },
    subresource: 'restart',
  },
];

export const rightsFor = ({ restarts }: { restarts: boolean }): Right[] => [PATCH_VMS, ...(restarts ? RESTARTS : [])];

/**
 * Returns those of the rights that the worker lacks in some of the namespaces (null: all of them), in words: `patch
 * virtualmachines.kubevirt.io`.
 */
export async function missingRights(
  client: KubeClient,
  rights: readonly Right[],
  namespaces: readonly string[] | null,
): Promise<string[]> {
  const within = namespaces ?? [undefined];
  const asked = rights.flatMap((right) => within.map((namespace) => ({ right, namespace })));
  const missingOf = async ({ right, namespace }: (typeof asked)[number]): Promise<string | null> =>
    (await hasRight(client, right, namespace)) ? null : asText(right, namespace);
  try {
    return await forEachConcurrently(asked, missingOf, CONCURRENCY);
  } catch (error) {
    if (error instanceof KubeError && error.status === 403)
      return [asText({ verb: 'create', resource: SelfSubjectAccessReviews }, undefined)];
    throw error;
  }
}

const asText = (right: Right, namespace: string | undefined): string =>
  namespace === undefined ? formatRight(right) : `${formatRight(right)} in ${namespace}`;
