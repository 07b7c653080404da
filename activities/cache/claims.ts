import { CLAIM_LABEL } from '../../api/claims/claim.ts';
import type { KubeObject } from '../../api/objects.ts';
import { Leases, type Resource } from '../../api/resources.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import type { CommonOptions } from './objects/owner-caches.ts';

/** The claims of namespaces by workers of their own, as the names of these namespaces. */
export type ClaimCache = ListWatch<KubeObject, string>;

export const claimCache = (
  common: (resource: Resource) => CommonOptions,
  onChange: (namespace: string) => void,
): ClaimCache =>
  new ListWatch<KubeObject, string>({
    ...common(Leases),
    labelSelector: CLAIM_LABEL,
    view: ({ metadata }) => metadata.namespace!,
    onChange: (_key, before, after) => onChange((after ?? before)!),
  });
