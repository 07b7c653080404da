import type { VmTemplate } from '../api/pool.ts';
import { ASKED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION, REVISION_LABEL } from '../api/names.ts';
import { controllerOf, type KubeObject, type Stored } from '../kubernetes/objects.ts';

/** Kubernetes' ControllerRevision, as drover writes it; its `data` never changes. */
export interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { template?: VmTemplate };
}

/** A template that a pool has, or had. */
export interface RevisionView {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** UID of the pool that controls it; null where none does. */
  poolUid: string | null;
  /** Hash of the template, as on the VMs that were made from it; empty where its label is missing. */
  revision: string;
  /** Counts up: the highest of a pool's numbers is its newest revision. */
  number: number;
  /** Null where somebody else put something else there. */
  template: VmTemplate | null;
  /** Milliseconds since the epoch. */
  createdAt: number;
  askedBy: string | null;
  changeCause: string | null;
}

export function revisionView(object: Stored<ControllerRevision>): RevisionView {
  const { metadata, revision, data } = object;
  const owner = controllerOf(object);
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    poolUid: owner?.kind === 'VirtualMachinePool' ? owner.uid : null,
    revision: metadata.labels?.[REVISION_LABEL] ?? '',
    number: revision,
    template: data?.template ?? null,
    createdAt: Date.parse(metadata.creationTimestamp),
    askedBy: metadata.annotations?.[ASKED_BY_ANNOTATION] ?? null,
    changeCause: metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? null,
  };
}
