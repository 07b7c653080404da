import { REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { requesterAnnotation } from '../../api/requested-by.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { Owner } from '../cli/owner.ts';
import type { ManagedFields } from '../fields/field-ownership.ts';

/** The field of the annotation, as the API server names it in a conflict. */
export const REQUESTER_FIELD = `.metadata.annotations.${REQUESTED_BY_ANNOTATION}`;

/** Returns `pool` with this annotation; unchanged if there is none. */
export function withRequester(pool: KubeObject, annotation: string | undefined): KubeObject {
  if (annotation === undefined) return pool;
  const { metadata } = pool;
  return {
    ...pool,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [REQUESTED_BY_ANNOTATION]: annotation } },
  };
}

/**
 * Returns the annotation that `manager` has applied, since its next apply would remove it if left out. Undefined if
 * another manager owns it.
 */
export function requesterAnnotationOf(pool: Stored | undefined, manager: string): string | undefined {
  const entries = (pool?.metadata.managedFields ?? []) as ManagedFields[];
  const owned = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply')?.fieldsV1;
  const ownsIt = owned?.['f:metadata']?.['f:annotations']?.[`f:${REQUESTED_BY_ANNOTATION}`] !== undefined;
  return ownsIt ? pool?.metadata.annotations?.[REQUESTED_BY_ANNOTATION] : undefined;
}

/** Reports whether an apply asks for other VMs than before. */
export const changesVms = (before: Stored | undefined, after: Stored): boolean =>
  before?.metadata.uid !== after.metadata.uid || templateHash(before as Owner) !== templateHash(after as Owner);

const templateHash = ({ spec }: Owner): string => revisionOf(poolTemplate(spec));

/** Returns an annotation that names who asks for the pool's template as the server has it. */
export const newRequesterAnnotation = (by: string, pool: Stored): string =>
  requesterAnnotation(by, templateHash(pool as Pool));
