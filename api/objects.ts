/**
 * Kubernetes objects as JSON: times are RFC 3339 strings, never `Date`, so that they pass through Temporal unchanged.
 */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: unknown[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

type StoredOnly = Pick<ObjectMeta, 'uid' | 'resourceVersion' | 'creationTimestamp'>;

/** Metadata of an object that the API server has stored. */
export type StoredMeta = ObjectMeta & Required<StoredOnly>;
export type Stored<T extends KubeObject = KubeObject> = T & { metadata: StoredMeta };

/** An object to be made. The API server completes a name of which only the beginning is given. */
export type New<T extends KubeObject = KubeObject> = {
  [Field in keyof T as Field extends 'metadata' | 'status' ? never : Field]: T[Field];
} & { metadata: Omit<ObjectMeta, 'name' | keyof StoredOnly> & { name?: string | undefined; generateName?: string } };

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export interface KubeList<T extends KubeObject = KubeObject> {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: Stored<T>[];
}

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  op: 'test' | 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/** Returns the controller among the owner references; Kubernetes allows at most one. */
export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** Returns the object without its managed fields, which would drown the rest. */
export function withoutManagedFields<T extends New>(object: T): T {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Returns the condition of a type from an object's status, if that has one. */
export const conditionOf = <Found extends { type: string }>(
  status: { conditions?: readonly Found[] | undefined } | undefined,
  type: string,
): Found | undefined => status?.conditions?.find((condition) => condition.type === type);
