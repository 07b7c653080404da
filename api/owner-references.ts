import { GROUP } from './labels-and-annotations.ts';
import { controllerOf, type KubeObject, type OwnerReference, type Stored } from './objects.ts';
import type { Resource } from './resources.ts';

/**
 * Identifies one object among all others of its kind. A UID alone does not: a user who may write in a namespace may put
 * the UID of any object of the cluster into owner references and labels there. An owner and what it owns are always in
 * one namespace.
 */
export interface Identity {
  readonly namespace: string;
  readonly uid: string;
}

export const identityOf = ({ metadata: { namespace = '', uid } }: Stored): Identity => ({ namespace, uid });

/** The identity as a key of a map. */
export const identityKey = ({ namespace, uid }: Identity): string => `${namespace}/${uid}`;

/**
 * Reports whether a reference is one to an object of this kind. Of drover's own kinds, it must name the version that is
 * served: Kubernetes' garbage collector can't look up any other, and never deletes what refers to it.
 */
export function isOwnerReferenceTo(
  { apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>,
  resource: Pick<Resource, 'group' | 'version' | 'kind'>,
): boolean {
  const [group, version] = apiVersion.split('/');
  return kind === resource.kind && group === resource.group && (group !== GROUP || version === resource.version);
}

/** Reports whether this owner, of this kind, controls the object. */
export function isControlledBy(
  object: KubeObject,
  resource: Pick<Resource, 'group' | 'version' | 'kind'>,
  { namespace, uid }: Identity,
): boolean {
  const controller = controllerOf(object);
  return (
    controller?.uid === uid &&
    (object.metadata.namespace ?? '') === namespace &&
    isOwnerReferenceTo(controller, resource)
  );
}

/**
 * Groups objects by the owners of one kind that control them. Returns a function that finds the objects of an owner.
 */
export function byController<T extends KubeObject>(
  objects: Iterable<T>,
  resource: Pick<Resource, 'group' | 'version' | 'kind'>,
): (owner: Identity) => T[] {
  const groups = new Map<string, T[]>();
  for (const object of objects) {
    const controller = controllerOf(object);
    if (controller === undefined || !isOwnerReferenceTo(controller, resource)) continue;
    const key = identityKey({ namespace: object.metadata.namespace ?? '', uid: controller.uid });
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [object]);
    else group.push(object);
  }
  return (owner) => groups.get(identityKey(owner)) ?? [];
}
