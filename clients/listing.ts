import type { KubeClient } from '../kubernetes/client.ts';
import { controllerOf, type Stored } from '../kubernetes/objects.ts';
import { VirtualMachinePools, VirtualMachines, type Resource } from '../kubernetes/resources.ts';
import { poolColumns, vmColumns, type Column } from './columns.ts';
import { byName } from './fleet.ts';
import { ofKnownKind } from './known-kind.ts';

/** What `get` was asked for. */
export interface Listing {
  kube: KubeClient;
  resource: Resource;
  columns: Column[];
  /** All namespaces where there is none. */
  namespace: string | undefined;
  /** All objects where there are none. */
  names: string[];
  selector?: string | undefined;
  /** Only what this pool owns. */
  pool?: string | undefined;
}

export const columnsFor = (resource: Resource): Column[] => (resource === VirtualMachines ? vmColumns : poolColumns);

/** The objects, in the order of their names. A name that is not there is a `KubeError` (404). */
export async function read(listing: Listing): Promise<Stored[]> {
  const { kube, resource, namespace, names } = listing;
  const picked = await picks(listing);
  const reading =
    names.length > 0
      ? Promise.all(names.map((name) => kube.get(resource, { namespace, name })))
      : kube.list(resource, { namespace, ...selectorOf(listing) }).then(({ items }) => items);
  return (await ofKnownKind(resource, reading)).filter(picked).sort(byName);
}

export const selectorOf = ({ selector }: Listing): { labelSelector?: string } =>
  selector === undefined ? {} : { labelSelector: selector };

/** Whether an object belongs to the listing, by its name and by its owner's UID. */
export async function picks({ kube, namespace, names, pool }: Listing): Promise<(object: Stored) => boolean> {
  const named = (object: Stored): boolean => names.length === 0 || names.includes(object.metadata.name);
  if (pool === undefined) return named;
  const { metadata } = await ofKnownKind(VirtualMachinePools, kube.get(VirtualMachinePools, { namespace, name: pool }));
  return (object) => named(object) && controllerOf(object)?.uid === metadata.uid;
}
