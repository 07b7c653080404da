import type { Stored } from '../../api/objects.ts';
import { isControlledBy, identityOf } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { kindOfOwner } from './kinds.ts';
import type { OwnerKey } from './owner-key.ts';

/** Returns the VM of this name as the API server has it now; undefined if there is none. */
export const liveVm = (
  client: KubeClient,
  { namespace, name }: ObjectKey,
): Promise<Stored<VirtualMachine> | undefined> =>
  ignoreNotFound(client.get<VirtualMachine>(VirtualMachines, { namespace, name }));

/** Returns the member of this name that a pool or a set of this kind has, or would have, as `liveVm` does the VM. */
export const liveMember = (
  client: KubeClient,
  key: Partial<OwnerKey>,
  { namespace, name }: ObjectKey,
): Promise<Stored | undefined> => ignoreNotFound(client.get(kindOfOwner(key).members.resource, { namespace, name }));

/** Returns the VMI of this VM as the API server has it; undefined if there is none, or it is another VM's. */
export async function ownVmi(client: KubeClient, vm: Stored): Promise<Stored<VirtualMachineInstance> | undefined> {
  const at = { namespace: vm.metadata.namespace, name: vm.metadata.name };
  const vmi = await ignoreNotFound(client.get<VirtualMachineInstance>(VirtualMachineInstances, at));
  return vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm)) ? vmi : undefined;
}

/** A VM as the API server has it. */
export interface LiveVm {
  stored: Stored<VirtualMachine>;
  vm: VmView;
  /** Its own, with what only other objects show. */
  vmi: VmiView | undefined;
}

/** Returns the VM of this name with its VMI, as the API server has them now; undefined if the VM does not exist. */
export async function liveVmWithVmi({ client, cache }: LiveAccess, key: ObjectKey): Promise<LiveVm | undefined> {
  const [stored, found] = await Promise.all([liveVm(client, key), readVmi(client, key)]);
  return stored && withVmi(cache, stored, found);
}

/**
 * The same for an act that ends and moves no VMI: with the VMI that the cache has, if the cache is as new as the VM. A
 * write to this version of the VM then goes to no VM that has another VMI by now.
 */
export async function liveVmWithCachedVmi(
  { client, cache }: LiveAccess & { cache: Pick<ClusterCache, 'vmis' | 'vmiOf'> },
  key: ObjectKey,
): Promise<LiveVm | undefined> {
  const stored = await liveVm(client, key);
  if (stored === undefined) return undefined;
  if (!cache.vmis.hasReached(BigInt(stored.metadata.resourceVersion)))
    return withVmi(cache, stored, await readVmi(client, key));
  const vm = cache.vmView(stored);
  return { stored, vm, vmi: cache.vmiOf(vm) };
}

interface LiveAccess {
  client: KubeClient;
  cache: Pick<ClusterCache, 'vmView' | 'withSurroundings'>;
}

const readVmi = (
  client: KubeClient,
  { namespace, name }: ObjectKey,
): Promise<Stored<VirtualMachineInstance> | undefined> =>
  ignoreNotFound(client.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name }));

function withVmi(
  cache: LiveAccess['cache'],
  stored: Stored<VirtualMachine>,
  found: Stored<VirtualMachineInstance> | undefined,
): LiveVm {
  const isOwn = found !== undefined && isControlledBy(found, VirtualMachines, identityOf(stored));
  return { stored, vm: cache.vmView(stored), vmi: isOwn ? cache.withSurroundings(vmiView(found)) : undefined };
}
