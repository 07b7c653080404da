import { SelfSubjectAccessReviews, SubjectAccessReviews, type Resource } from '../api/resources.ts';
import type { KubeClient } from './client.ts';

/** A permission on the API server. */
export interface Right {
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'override';
  resource: Pick<Resource, 'group' | 'plural'>;
  subresource?: string;
  /** The only object that it is for. */
  name?: string;
}

interface AccessReview {
  metadata: { name: string };
  spec: object;
  status?: { allowed?: boolean };
  [field: string]: unknown;
}

/** Another than the client itself. */
interface Account {
  user: string;
  groups: string[];
}

/** Asks the API server whether this client, or `account`, has the right in the namespace; undefined: in all of them. */
export async function hasRight(
  client: KubeClient,
  { verb, resource: { group, plural }, subresource, name }: Right,
  namespace: string | undefined,
  signal?: AbortSignal,
  account?: Account,
): Promise<boolean> {
  const resourceAttributes = { verb, group, resource: plural, subresource, name, namespace };
  const review: AccessReview = { metadata: { name: '' }, spec: { ...account, resourceAttributes } };
  const resource = account === undefined ? SelfSubjectAccessReviews : SubjectAccessReviews;
  const { status } = await client.create<AccessReview>(resource, review, { signal });
  return status?.allowed === true;
}

/** `patch virtualmachines.kubevirt.io`, as Kubernetes' own refusals name what they refuse. */
export const formatRight = ({ verb, resource: { group, plural }, subresource }: Right): string =>
  `${verb} ${plural}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
