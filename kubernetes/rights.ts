import { SelfSubjectAccessReviews, type Resource } from '../api/resources.ts';
import type { KubeClient } from './client.ts';

/** A permission on the API server. */
export interface Right {
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';
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

/** Asks the API server whether this client has the right in the namespace; undefined: in all of them. */
export async function hasRight(
  client: KubeClient,
  { verb, resource: { group, plural }, subresource }: Right,
  namespace: string | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  const asked = {
    verb,
    group,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const review: AccessReview = { metadata: { name: '' }, spec: { resourceAttributes: asked } };
  const { status } = await client.create<AccessReview>(SelfSubjectAccessReviews, review, { signal });
  return status?.allowed === true;
}

/** `patch virtualmachines.kubevirt.io`, as Kubernetes' own refusals name what they refuse. */
export const formatRight = ({ verb, resource: { group, plural }, subresource }: Right): string =>
  `${verb} ${plural}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
