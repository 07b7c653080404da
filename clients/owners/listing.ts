import { KEPT_DISK, POOL_LABEL } from '../../api/names.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import {
  apiVersionOf,
  PersistentVolumeClaims,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { poolColumns, vmColumns, type Column } from '../cli/columns.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { diskColumns } from '../disks/columns.ts';
import { byName } from './members.ts';

/** What `get` was asked for. */
export interface Listing {
  kube: KubeClient;
  resource: Resource;
  columns: Column[];
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  /** Empty for all objects. */
  names: string[];
  selector?: string | undefined;
  /** Limits the listing to what this pool owns. */
  pool?: string | undefined;
}

export function columnsFor(resource: Resource): Column[] {
  if (resource === VirtualMachines) return vmColumns;
  return resource === PersistentVolumeClaims ? diskColumns : poolColumns;
}

/** Returns the objects, sorted by name. Throws `KubeError` (404) if a named object does not exist. */
export async function read(listing: Listing): Promise<Stored[]> {
  const { kube, resource, namespace, names } = listing;
  const picked = await picks(listing);
  const reading =
    names.length > 0
      ? Promise.all(names.map((name) => kube.get(resource, { namespace, name })))
      : kube.list(resource, { namespace, ...selectorOf(listing) }).then(({ items }) => items);
  // The items of Kubernetes' own lists lack apiVersion and kind.
  const typed = (object: Stored): Stored => ({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...object });
  return (await ofKnownKind(resource, reading)).filter(picked).map(typed).sort(byName);
}

export function selectorOf({ resource, selector, pool }: Listing): { labelSelector?: string } {
  const parts = [
    selector ?? [],
    resource === PersistentVolumeClaims ? [KEPT_DISK, pool === undefined ? [] : `${POOL_LABEL}=${pool}`] : [],
  ].flat(2);
  return parts.length === 0 ? {} : { labelSelector: parts.join() };
}

/** Returns a predicate for the objects of the listing, by name and by their owner's UID. */
export async function picks({ kube, resource, namespace, names, pool }: Listing): Promise<(object: Stored) => boolean> {
  const named = (object: Stored): boolean => names.length === 0 || names.includes(object.metadata.name);
  if (resource === PersistentVolumeClaims) {
    const { isKept } = await import('../disks/kept.ts');
    const kept = await isKept(kube, namespace);
    return (claim) => named(claim) && kept(claim);
  }
  if (pool === undefined) return named;
  const { metadata } = await ofKnownKind(VirtualMachinePools, kube.get(VirtualMachinePools, { namespace, name: pool }));
  return (object) => named(object) && controllerOf(object)?.uid === metadata.uid;
}
