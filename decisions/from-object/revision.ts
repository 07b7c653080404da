import { REQUESTED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { revisionName, revisionOf } from '../template/revision.ts';
import type { PoolTemplate } from '../template/template.ts';

/** Kubernetes' ControllerRevision, as drover writes it; its `data` is immutable. */
export interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { template?: PoolTemplate };
}

/** A template that a pool has, or had. */
export interface RevisionView {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** UID of the pool that controls it. */
  poolUid: string;
  /** Hash of the template, as in the label of the VMs made from it. */
  revision: string;
  /** An increasing number: the highest is the pool's newest revision. */
  number: number;
  template: PoolTemplate;
  /** Milliseconds since the epoch. */
  createdAt: number;
  requestedBy: string | null;
  changeCause: string | null;
}

/**
 * Returns null for a ControllerRevision that no pool of drover's controls, or that is not as drover writes them: its
 * template hashes to the revision that it is labelled with and named after. VMs are made from no other template.
 */
export function revisionView(object: Stored<ControllerRevision>): RevisionView | null {
  const { metadata, revision: number, data } = object;
  const owner = controllerOf(object);
  const revision = metadata.labels?.[REVISION_LABEL];
  if (
    owner === undefined ||
    !isOwnerReferenceTo(owner, VirtualMachinePools) ||
    data?.template === undefined ||
    revision !== revisionOf(data.template) ||
    metadata.name !== revisionName(owner.name, revision)
  )
    return null;
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    poolUid: owner.uid,
    revision,
    number,
    template: data.template,
    createdAt: Date.parse(metadata.creationTimestamp),
    requestedBy: metadata.annotations?.[REQUESTED_BY_ANNOTATION] ?? null,
    changeCause: metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? null,
  };
}
