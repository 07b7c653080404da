import { DISKS_FINALIZER, REMOVING_ANNOTATION, REMOVING_TO_HEAL } from '../../api/labels-and-annotations.ts';
import type { OwnerReference, Stored } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachines, type Resource } from '../../api/resources.ts';
import { diskOfVm } from '../../decisions/disks/kept-volumes.ts';
import { specRevision, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { keepsDisks } from '../../decisions/scaling/unverified-removal.ts';
import { diskTemplates } from '../../decisions/template/disk-template.ts';
import { keptDiskMetadata, NO_NUMBER } from '../../decisions/template/kept-disk.ts';
import { disksOf } from '../../decisions/template/used-disks.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import { firmwareOf } from '../../decisions/template/vm-state.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { retryOnConflict, whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { isMemberOf, seenMember, type IfOwnedOptions, type OwnedActResult, type OwnedVm } from '../owners/if-owned.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { isOwnedBy } from './shared-disks.ts';
import { stateClaimsOf } from './state-claims.ts';

/** More than usual: no one else deletes a VM that is held back for its disks. */
const TRIES = 20;

/**
 * Deletes a VM of the pool and keeps its disks: their claims are marked as the pool's for this number, and lose their
 * owner. Everything else that the VM owns (KubeVirt's copies of its spec and instance type) is deleted with it; a
 * deletion with `Orphan` would leave that behind forever. A finalizer holds the VM meanwhile: KubeVirt takes back disks
 * that have no owner, but not for a terminating VM.
 *
 * Deletes the VM only as it was seen, and only if it `isWanted` right before. Safe to run again at any point, also for
 * a VM that is already held and terminating.
 */
export async function deleteKeepingDisks(
  client: KubeClient,
  key: PoolKey,
  { name, uid, resourceVersion }: OwnedVm,
  now: number,
  isWanted: IfOwnedOptions['isWanted'],
): Promise<OwnedActResult> {
  const vm = await liveVm(client, { namespace: key.namespace, name });
  const member = vm && seenMember(key, vm);
  if (vm === undefined || member === undefined || member.uid !== uid) return { skippedAt: member?.resourceVersion };
  if (!isMemberOf(key, member)) return { skippedAt: member.resourceVersion };
  const isGoing = vm.metadata.deletionTimestamp !== undefined;
  if (isGoing && !hasDisksFinalizer(vm)) return 'done';
  if (!isGoing && resourceVersion !== undefined && member.resourceVersion !== resourceVersion)
    return { skippedAt: member.resourceVersion };
  let held = vm;
  const acted = await whileFresh(async (lastCheck) => {
    if (!(await isWanted(member))) return 'notWanted';
    if (isGoing) return 'done';
    const holding = await hold(client, held);
    if (holding === undefined) return 'skipped';
    held = holding;
    return (await remove(client, held, lastCheck)) ? 'done' : 'skipped';
  });
  if (acted === 'done') await finishKeepingDisks(client, key, vm, now);
  else if (acted === 'skipped') return { skippedAt: await removeDisksFinalizer(client, vm) };
  else if (held !== vm) await removeDisksFinalizer(client, vm);
  return acted;
}

/** Has a VM go that is terminating and held, and keeps its disks. */
export async function finishKeepingDisks(
  client: KubeClient,
  key: PoolKey,
  vm: Stored<VirtualMachine>,
  now: number,
): Promise<void> {
  await orphanDisks(client, key, vm, now);
  await removeDisksFinalizer(client, vm);
}

/** Reports whether a VM is held until its disks are let go. */
export const hasDisksFinalizer = ({ metadata }: Stored<VirtualMachine>): boolean =>
  metadata.finalizers?.includes(DISKS_FINALIZER) === true;

/** Adds the finalizer, without which its disks would go with the VM; undefined if the VM has changed or is deleted. */
async function hold(client: KubeClient, vm: Stored<VirtualMachine>): Promise<Stored<VirtualMachine> | undefined> {
  if (hasDisksFinalizer(vm)) return vm;
  const { namespace, name, uid, resourceVersion, finalizers = [] } = vm.metadata;
  const patch = { metadata: { uid, resourceVersion, finalizers: [...finalizers, DISKS_FINALIZER] } };
  return ignoreStale(patchKept<VirtualMachine>(client, VirtualMachines, { namespace, name }, patch));
}

/** Deletes the VM; resolves to false if the VM has changed or is deleted meanwhile. */
async function remove(client: KubeClient, { metadata }: Stored, lastCheck: LastCheck): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const options = { uid, resourceVersion, propagationPolicy: 'Background', lastCheck } as const;
  return (await ignoreStale(client.delete(VirtualMachines, { namespace, name }, options))) !== undefined;
}

/** Removes the finalizer again. Resolves to the VM's resource version after that; to undefined if the VM is deleted. */
async function removeDisksFinalizer(
  client: KubeClient,
  { metadata: { namespace, name, uid } }: Stored<VirtualMachine>,
): Promise<string | undefined> {
  const at = { namespace, name };
  const release = async (): Promise<string | undefined> => {
    const vm = await liveVm(client, at);
    const { resourceVersion, finalizers = [] } = vm?.metadata ?? {};
    if (vm === undefined || vm.metadata.uid !== uid || !finalizers.includes(DISKS_FINALIZER)) return resourceVersion;
    const patch = {
      metadata: { uid, resourceVersion, finalizers: finalizers.filter((one) => one !== DISKS_FINALIZER) },
    };
    return (await ignoreNotFound(patchKept(client, VirtualMachines, at, patch)))?.metadata.resourceVersion;
  };
  // KubeVirt also writes to a terminating VM.
  return retryOnConflict(release, { tries: TRIES });
}

/**
 * Marks the claims of the VM's disks, and of the state that KubeVirt keeps for it beside them, and removes the VM from
 * the owner references of the claims and their DataVolumes.
 */
async function orphanDisks(client: KubeClient, key: PoolKey, vm: Stored<VirtualMachine>, now: number): Promise<void> {
  const pool = await livePool(client, key);
  const { namespace, name, uid, annotations } = vm.metadata;
  const number = numberOf(key.name, name);
  // Every client that may write to a VM can mark it: in a pool that keeps no disks, that costs none, and the next VM
  // has them.
  const isReused = annotations?.[REMOVING_ANNOTATION] === REMOVING_TO_HEAL || pool === undefined || !keepsDisks(pool);
  const templates = diskTemplates(vm.spec);
  const state = await stateClaimsOf(client, key.namespace, name);
  for (const disk of new Set([...disksOf(vm.spec), ...state.map(({ metadata }) => metadata.name)])) {
    const keptMetadata = keptDiskMetadata({
      pool: key.name,
      poolUid: key.uid,
      number: number ?? NO_NUMBER,
      ...diskOfVm(disk, { name, number, spec: vm.spec }),
      revision: specRevision(vm),
      template: templates.get(disk) ?? null,
      firmware: firmwareOf(vm.spec),
      keptBy: isReused ? 'healing' : 'scale-in',
      keptAt: new Date(now).toISOString(),
    });
    const at = { namespace, name: disk };
    // A disk that is not created yet has no claim, and is deleted with the VM. A disk with another owner is not the
    // VM's.
    const isOwn = async (claim: Stored): Promise<boolean> =>
      isOwnedBy(claim, uid) || isOwnedBy(await ignoreNotFound(client.get(DataVolumes, at)), uid);
    if (
      await disown(client, PersistentVolumeClaims, at, uid, async (claim) =>
        (await isOwn(claim)) ? keptMetadata : null,
      )
    ) {
      await disown(client, DataVolumes, at, uid, (volume) => Promise.resolve(isOwnedBy(volume, uid) ? {} : null));
    }
  }
}

/**
 * Removes the owner from an object's owner references and merges `change` into its metadata; resolves to false if there
 * is nothing to change.
 */
async function disown(
  client: KubeClient,
  resource: Resource,
  at: { namespace: string | undefined; name: string },
  owner: string,
  change: (object: Stored) => Promise<object | null>,
): Promise<boolean> {
  const write = async (): Promise<boolean> => {
    const object = await ignoreNotFound(client.get(resource, at));
    const more = object === undefined ? null : await change(object);
    if (object === undefined || more === null) return false;
    const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
    const rest = ownerReferences.filter((one: OwnerReference) => one.uid !== owner);
    const owners = rest.length === ownerReferences.length ? {} : { ownerReferences: rest };
    const patch = { metadata: { uid, resourceVersion, ...more, ...owners } };
    await patchKept(client, resource, at, patch);
    return true;
  };
  return retryOnConflict(write, { tries: TRIES });
}
