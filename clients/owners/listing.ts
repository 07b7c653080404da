import { KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { apiVersionOf, PersistentVolumeClaims, VirtualMachineInstances, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ownerKindOf, type OwnerKind } from '../cli/kinds.ts';
import { byName, namedOrAll } from '../cli/owner.ts';
import type { Column } from '../cli/print.ts';
import { diskColumns } from '../disks/columns.ts';
import { columnsOfOwners, vmColumns, vmiColumns } from './columns.ts';

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
  /** Limits the listing to what this pool or set owns. */
  owner?: { kind: OwnerKind; name: string } | undefined;
}

export function columnsFor(resource: Resource): Column[] {
  const owners = ownerKindOf(resource.kind);
  if (owners !== undefined) return columnsOfOwners(owners);
  if (resource === VirtualMachineInstances) return vmiColumns;
  return resource === PersistentVolumeClaims ? diskColumns : vmColumns;
}

/** Returns the objects, sorted by name. Throws `KubeError` (404) if a named object does not exist. */
export async function read(listing: Listing): Promise<Stored[]> {
  const { kube, resource, namespace, names } = listing;
  const picked = await picks(listing);
  const found = await namedOrAll(kube, resource, { namespace, names, selector: selectorOf(listing) });
  // The items of Kubernetes' own lists lack apiVersion and kind.
  const typed = (object: Stored): Stored => ({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...object });
  return found.filter(picked).map(typed).sort(byName);
}

export function selectorOf({ resource, selector, owner }: Listing): string | undefined {
  const parts = [
    selector ?? [],
    resource === PersistentVolumeClaims ? [KEPT_DISK, owner === undefined ? [] : `${POOL_LABEL}=${owner.name}`] : [],
  ].flat(2);
  return parts.length === 0 ? undefined : parts.join();
}

/** Returns a predicate for the objects of the listing, by name and by their owner's UID. */
export async function picks(listing: Listing): Promise<(object: Stored) => boolean> {
  const { kube, resource, namespace, names, owner } = listing;
  const named = (object: Stored): boolean => names.length === 0 || names.includes(object.metadata.name);
  if (resource === PersistentVolumeClaims) {
    const { isKept } = await import('../disks/kept.ts');
    const kept = await isKept(kube, namespace);
    return (claim) => named(claim) && kept(claim);
  }
  if (owner === undefined) return named;
  const owners = owner.kind.resource;
  const found = await kube.get(owners, { namespace, name: owner.name });
  return (object) => named(object) && isControlledBy(object, owners, identityOf(found));
}
