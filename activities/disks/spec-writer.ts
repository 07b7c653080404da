import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { KEPT_DISK } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachines, type Resource } from '../../api/resources.ts';
import { poolsOfDisk, whyDiskIsHeld, type DiskConflict } from '../../decisions/disks/disk-conflict.ts';
import { withKeptTemplates } from '../../decisions/disks/kept-claims.ts';
import { withKeptVolumes } from '../../decisions/disks/kept-volumes.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { mergePatch } from '../../decisions/merge/vm.ts';
import { diskTemplates } from '../../decisions/template/disk-template.ts';
import { keptDiskOf, type KeptDisk } from '../../decisions/template/kept-disk.ts';
import { newDisks, type VmSpec } from '../../decisions/template/used-disks.ts';
import type { NewMember } from '../../decisions/template/vm-from-template.ts';
import { numberOf, vmName } from '../../decisions/template/vm-names.ts';
import { keepsState } from '../../decisions/template/vm-state.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { liveVm } from '../owners/live-vm.ts';
import { stateClaimsOf } from './state-claims.ts';

/** A deleted VM's disks follow it within moments if nothing uses them. */
const GOES_WITHIN_MS = 5_000;
const PAUSE_MS = 250;

/** A change of a VM of a pool, or its replacement by another. */
interface UpdateWrite {
  before: Stored<VirtualMachine>;
  after: VirtualMachine | NewMember;
  /** The VM as its pool would make it. */
  made: NewMember;
  /** Called right before the write; if it throws, nothing is written. */
  lastCheck?: (() => void) | undefined;
}

/** The VM that is written; its UID is null if it is to be created. */
interface ThisVm {
  namespace: string;
  name: string;
  uid: string | null;
}

/**
 * Writes the specs of VMs. Nothing else creates a VM or changes what disks it has, so that no VM gets a disk which is
 * not its own: KubeVirt runs a VM on any DataVolume or claim of the right name.
 */
export class SpecWriter {
  readonly #client: KubeClient;
  readonly #cache: Pick<ClusterCache, 'pools' | 'vms' | 'diskUsers'>;
  /** By the UIDs of pools: VMs that are created at once share a call. */
  readonly #kept = new Map<string, () => Promise<Stored[]>>();

  constructor(client: KubeClient, cache: Pick<ClusterCache, 'pools' | 'vms' | 'diskUsers'>) {
    this.#client = client;
    this.#cache = cache;
  }

  /**
   * Creates the member of a set or, if `pool` is given, of that pool. Throws a `KubeError` with the reason `DiskHeld`
   * if it would run on a disk that is not its own.
   */
  async create(resource: Resource, member: NewMember, pool: StoredPool | null): Promise<Stored> {
    const { name, namespace } = member.metadata;
    const until = Date.now() + GOES_WITHIN_MS;
    const vm = { namespace, name, uid: null };
    const wanted = pool === null ? member : withKeptVolumes(member, await this.#keptFor(pool, member));
    const keptDisks = new Map<string, KeptDisk>();
    for (const disk of await this.#addedClaims(vm, undefined, wanted.spec)) {
      let { conflict, kept } = await this.#lookAt(disk, vm, pool);
      if (conflict?.passes === true && (await liveVm(this.#client, vm))) conflict = null;
      while (conflict?.passes === true && Date.now() < until) {
        await sleep(PAUSE_MS, undefined, { signal: cancellationSignal() });
        ({ conflict, kept } = await this.#lookAt(disk, vm, pool));
      }
      if (conflict !== null) throw new ActRefused('DiskHeld', `${name} is not created: ${conflict.message}`);
      if (kept !== null) keptDisks.set(disk, kept);
    }
    const made = withKeptTemplates(wanted, keptDisks);
    return this.#client.create(resource, made);
  }

  /**
   * Returns the disks that are kept for a VM of the pool, by the names of their claims: of those under other names than
   * the template gives, only the marks tell.
   */
  async #keptFor(
    { metadata: { namespace, name, uid } }: StoredPool,
    member: NewMember,
  ): Promise<Map<string, KeptDisk>> {
    if (diskTemplates(member.spec).size === 0) return new Map();
    const number = numberOf(name, member.metadata.name);
    const claims = await this.#keptOf(namespace, uid);
    return new Map(
      claims.flatMap(({ metadata }): [string, KeptDisk][] => {
        const kept = metadata.deletionTimestamp === undefined ? keptDiskOf(metadata) : null;
        return kept !== null && kept.number === number ? [[metadata.name, kept]] : [];
      }),
    );
  }

  /**
   * Writes what differs between the VM of a pool before and after. Resolves to undefined if nothing does. Throws as
   * `create` does, and if the VM has changed since.
   */
  async update(
    pool: StoredPool,
    write: UpdateWrite & { after: VirtualMachine },
  ): Promise<Stored<VirtualMachine> | undefined> {
    const { metadata: of } = write.before;
    const patch = mergePatch(write.before, write.after);
    if (patch === null) return undefined;
    const message = await this.whyHeld(pool, write);
    if (message !== null) throw new ActRefused('DiskHeld', message);
    const { metadata, ...rest } = patch as { metadata?: object };
    const guarded = { ...rest, metadata: { ...metadata, uid: of.uid, resourceVersion: of.resourceVersion } };
    const at = { namespace: of.namespace, name: of.name };
    const { lastCheck } = write;
    return this.#client.patch<VirtualMachine>(VirtualMachines, at, 'merge', guarded, { lastCheck });
  }

  /** Returns why the VM of a pool may not have the disks that a write would give it, in words; null if it may. */
  async whyHeld(pool: StoredPool, { before, after, made }: UpdateWrite): Promise<string | null> {
    const { name, uid } = before.metadata;
    const vm = { namespace: pool.metadata.namespace, name, uid };
    for (const disk of await this.#addedClaims(vm, before.spec, after.spec ?? {}, made.spec)) {
      const { conflict } = await this.#lookAt(disk, vm, pool);
      if (conflict !== null) return conflict.message;
    }
    return null;
  }

  /** Returns the claims that a VM gets with a write of its spec: KubeVirt takes any that it finds. */
  async #addedClaims(
    { namespace, name }: ThisVm,
    before: VmSpec | undefined,
    after: VmSpec,
    made?: VmSpec,
  ): Promise<string[]> {
    const disks = newDisks(before, after, made);
    if (!keepsState(after) || keepsState(before)) return disks;
    const state = await stateClaimsOf(this.#client, namespace, name);
    return [...disks, ...state.map(({ metadata }) => metadata.name)];
  }

  /** Returns the claims that are marked as kept for this pool. */
  #keptOf(namespace: string, uid: string): Promise<Stored[]> {
    const options = { namespace, labelSelector: `${KEPT_DISK}=${uid}` };
    const listing =
      this.#kept.get(uid) ??
      sharedCall(async () => (await this.#client.list<Stored>(PersistentVolumeClaims, options)).items);
    this.#kept.set(uid, listing);
    return listing();
  }

  /** Returns why the VM may not have the disk, or what the disk is if it was kept. */
  async #lookAt(
    disk: string,
    vm: ThisVm,
    pool: StoredPool | null,
  ): Promise<{ conflict: DiskConflict | null; kept: KeptDisk | null }> {
    const at = { namespace: vm.namespace, name: disk };
    const [dataVolume, claim] = await Promise.all([
      ignoreNotFound(this.#client.get(DataVolumes, at)),
      ignoreNotFound(this.#client.get(PersistentVolumeClaims, at)),
    ]);
    const number = pool === null ? null : numberOf(pool.metadata.name, vm.name);
    const conflict = whyDiskIsHeld({
      name: disk,
      vm,
      pool: pool === null || number === null ? null : { uid: pool.metadata.uid, number },
      dataVolume,
      claim,
      users: this.#cache.diskUsers.of(vm.namespace, disk),
    });
    const kept = claim === undefined ? null : keptDiskOf(claim.metadata);
    if (conflict !== null || pool === null || number === null) return { conflict, kept };
    const rival = poolsOfDisk(pool, disk, number, this.#cache.pools.values()).find(
      (other) => isOlder(other, pool) || this.#hasVm(other, number),
    );
    if (rival === undefined) return { conflict: null, kept };
    const message = `disk ${disk} belongs to pool ${rival.metadata.name}, which has a disk template of the same name: rename the template in one of the pools`;
    return { conflict: { message, passes: false }, kept };
  }

  #hasVm({ metadata }: StoredPool, number: number): boolean {
    const vm = this.#cache.vms.get(`${metadata.namespace}/${vmName(metadata.name, number)}`);
    return vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', metadata);
  }
}

/** If neither pool's disks exist yet when the other looks, the older pool goes first. */
const isOlder = (a: StoredPool, b: StoredPool): boolean => {
  const [times, others] = [createdAt(a), createdAt(b)];
  return times === others ? a.metadata.uid < b.metadata.uid : times < others;
};

const createdAt = ({ metadata }: StoredPool): string =>
  (metadata as { creationTimestamp?: string }).creationTimestamp ?? '';
