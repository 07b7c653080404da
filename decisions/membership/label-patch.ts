import {
  DETACHED_ANNOTATION,
  DISKS_FINALIZER,
  JOINED_ANNOTATION,
  MEMBER_OF_ANNOTATION,
  NOT_YET_RUN_ANNOTATION,
  POOL_LABEL,
  PROTECT_ANNOTATION,
  REMOVING_ANNOTATION,
  REVISION_LABEL,
  ROLE_LABEL,
  CORRECT_DRIFT_ANNOTATION,
  STANDBY_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { ObjectMeta } from '../../api/objects.ts';
import { formerMemberAnnotation, formerMemberOf } from '../views/annotations/former-member.ts';
import { strategyPatch, type MetadataPatch } from './transfer.ts';

/** The parts of a VM or a VMI that tell which pool it is of. */
type Labelled = Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers'>;

/** The labels also go to the VMI template of a VM. */
export interface LabelPatch extends MetadataPatch {
  finalizers?: string[];
}

/** What a VM or a VMI gets that is the pool's again: the revision that it had there, unless it has one. */
export function asMember(pool: string, { labels = {}, annotations }: Labelled, revision: string | null): LabelPatch {
  const known = labels[REVISION_LABEL] ?? formerMemberOf(annotations)?.revision ?? revision;
  return {
    labels: { [POOL_LABEL]: pool, ...(known === null ? {} : { [REVISION_LABEL]: known }) },
    annotations: { [DETACHED_ANNOTATION]: null },
  };
}

/**
 * What a VM or a VMI that has left the pool loses: everything by which drover knew it there. It keeps a note of its
 * revision, in case it returns, and of the eviction strategy that it loses.
 */
export function asFormer(
  pool: string,
  { labels = {}, annotations, finalizers }: Labelled,
  strategy?: string | null,
): LabelPatch {
  const revision = labels[REVISION_LABEL] ?? formerMemberOf(annotations)?.revision ?? null;
  const kept = finalizers?.filter((finalizer) => finalizer !== DISKS_FINALIZER);
  return {
    labels: {
      [POOL_LABEL]: null,
      [REVISION_LABEL]: null,
      ...(labels[ROLE_LABEL] === undefined ? {} : { [ROLE_LABEL]: null }),
    },
    annotations: {
      [REMOVING_ANNOTATION]: null,
      [JOINED_ANNOTATION]: null,
      [MEMBER_OF_ANNOTATION]: null,
      [NOT_YET_RUN_ANNOTATION]: null,
      [CORRECT_DRIFT_ANNOTATION]: null,
      [PROTECT_ANNOTATION]: null,
      ...(annotations?.[STANDBY_ANNOTATION] === undefined ? {} : { [STANDBY_ANNOTATION]: null }),
      ...formerMemberAnnotation({ pool, revision, ...(strategy === undefined ? {} : { wasDrained: true }) }),
    },
    ...(kept?.length === finalizers?.length ? {} : { finalizers: kept! }),
  };
}

/**
 * Returns the merge patch of a VM; its VMI template gets the same labels. `metadata`: what else is to be written.
 * `strategy`: the eviction strategy that it gets, null for none.
 */
export const vmLabelPatch = (
  { labels, ...rest }: LabelPatch,
  metadata: object,
  strategy: string | null | undefined,
): { metadata: object; spec: { template: object } } => ({
  metadata: { ...metadata, labels, ...rest },
  spec: { template: { metadata: { labels }, ...strategyPatch(strategy) } },
});
