import { controllerOf, type OwnerReference, type Stored } from '../../api/objects.ts';

/** Labels and annotations as values of a merge patch: null removes. */
export interface MetadataPatch {
  labels: Record<string, string | null>;
  annotations: Record<string, string | null>;
}

/** Returns the part of a VM's VMI template that gives it this eviction strategy; nothing if it keeps its own. */
export const strategyPatch = (strategy: string | null | undefined): { spec?: { evictionStrategy: string | null } } =>
  strategy === undefined ? {} : { spec: { evictionStrategy: strategy } };

/** What a VM is given when another object becomes its controller, or none does. */
export interface Transfer extends MetadataPatch {
  /** UID of the controller that it must have; null if it must have none. */
  from: string | null;
  /** The controller that it gets; null for none. */
  to: OwnerReference | null;
  /** Of its VMI template alone, which gets the labels of the VM, too. */
  template?: MetadataPatch;
  /** The eviction strategy that it gets; null for none. */
  strategy?: string | null | undefined;
  finalizers?: { add?: string; remove?: string };
}

/** A merge patch. */
interface TransferPatch {
  metadata: MetadataPatch & {
    uid: string;
    resourceVersion: string;
    ownerReferences: OwnerReference[];
    finalizers?: string[];
  };
  spec: object;
}

/**
 * Returns the patch by which a VM changes its controller in one write, so that it has exactly one at every instant.
 * The patch is refused if the VM has changed since. Null if the VM no longer has the controller that is meant.
 */
export function transferPatch(
  vm: Stored,
  { from, to, labels, annotations, template, strategy, finalizers }: Transfer,
): TransferPatch | null {
  const { uid, resourceVersion, ownerReferences = [], finalizers: existing = [] } = vm.metadata;
  if ((controllerOf(vm)?.uid ?? null) !== from) return null;
  const others = ownerReferences.filter((reference) => reference.controller !== true);
  const kept = existing.filter((one) => one !== finalizers?.remove);
  const add = finalizers?.add;
  const wanted = add === undefined || kept.includes(add) ? kept : [...kept, add];
  return {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences: to === null ? others : [...others, to],
      labels,
      annotations,
      ...(wanted.join() === existing.join() ? {} : { finalizers: wanted }),
    },
    spec: {
      template: {
        metadata: { ...template, labels: { ...template?.labels, ...labels } },
        ...strategyPatch(strategy),
      },
    },
  };
}
