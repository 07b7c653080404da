import { POOL_LABEL, ROLE_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import type { RoleEntry } from '../../api/pool/pool.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { announced, identified, reconciled, roleIn, type Made } from '../../decisions/membership/roles.ts';
import type { Target } from '../../decisions/owners/steps.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { MemberRole, VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ON_BUSY_STATUS } from '../../kubernetes/retry.ts';
import { recordEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { ifOwned } from '../owners/if-owned.ts';
import { livePool, patchPool } from '../owners/live-owner.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { outcomeOf, tryEach, type Acted } from '../owners/try-each.ts';

/** Calls at once to find which VMs of the record there are. */
const CONCURRENCY = 8;

/** What becomes of a record, and the pool that it was read from. */
type Change = (pool: StoredPool) => RoleEntry[] | Promise<RoleEntry[]>;

/**
 * The record of which VMs of a pool are not replicas. Only this writes it, and no activity takes it from a caller: it
 * says which VMs may be deleted as extra ones, with their disks.
 */
export class RoleRecord {
  readonly #client: KubeClient;
  readonly #key: PoolKey;
  /** What a later plan must have seen. */
  minVersions: ResourceVersions = {};

  constructor(client: KubeClient, key: PoolKey) {
    this.#client = client;
    this.#key = key;
  }

  /** Records that VMs of these names are about to be made in this role; null for replicas. */
  announce(names: readonly string[], role: MemberRole | null): Promise<void> {
    return this.#write(async ({ status }) => {
      const uids = new Map<string, string | undefined>();
      const find = async ({ name }: { name: string }): Promise<Acted> => {
        uids.set(name, (await this.#liveVm(name))?.metadata.uid);
        return 'done';
      };
      const items = names.map((name) => ({ name }));
      outcomeOf(await tryEach(items, find, { most: CONCURRENCY }));
      return announced(status?.roles, { names, role, at: this.#now }, (name) => uids.get(name));
    });
  }

  /** Records which VMs these are: they were made in this role, or a backup has brought them back in it. */
  identify(made: readonly Made[], role: MemberRole): Promise<void> {
    if (made.length === 0) return Promise.resolve();
    return this.#write(({ status }) => identified(status?.roles, { made, role, at: this.#now }));
  }

  /** Takes VMs that have become replicas off the record. */
  forget(uids: readonly string[]): Promise<void> {
    if (uids.length === 0) return Promise.resolve();
    const gone = new Set(uids);
    return this.#write(({ status }) => (status?.roles ?? []).filter(({ uid }) => uid === undefined || !gone.has(uid)));
  }

  /** Brings the record up to date with the VMs that there are. */
  reconcile(): Promise<void> {
    return this.#write(async ({ status }) => {
      const found = new Map<RoleEntry, VmView>();
      const find = async ({ entry }: { entry: RoleEntry }): Promise<Acted> => {
        const vm = await this.#liveVm(entry.vm);
        // One that a backup has brought back is about to be the pool's.
        const isMember =
          vm !== undefined &&
          (isControlledBy(vm, VirtualMachinePools, this.#key) ||
            (controllerOf(vm) === undefined && vm.metadata.labels?.[POOL_LABEL] === this.#key.name));
        if (isMember) found.set(entry, vmView(vm));
        return 'done';
      };
      const entries = (status?.roles ?? []).map((entry) => ({ name: entry.vm, entry }));
      outcomeOf(await tryEach(entries, find, { most: CONCURRENCY }));
      return reconciled(status?.roles, (entry) => found.get(entry), this.#client.clock.now());
    });
  }

  get #now(): string {
    return new Date(this.#client.clock.now()).toISOString();
  }

  #liveVm(name: string): ReturnType<typeof liveVm> {
    return liveVm(this.#client, { namespace: this.#key.namespace, name });
  }

  async #write(change: Change): Promise<void> {
    const changeOf = async (pool: StoredPool) => {
      const { status } = pool;
      const roles = await change(pool);
      if (JSON.stringify(roles) === JSON.stringify(status?.roles ?? [])) return null;
      const isFirst = status === undefined;
      return { status: { ...(isFirst && { replicas: 0 }), roles: roles.length === 0 ? null : roles } };
    };
    const { minVersions } = await patchPool(this.#client, this.#key, changeOf, {
      subresource: 'status',
      ...ON_BUSY_STATUS,
    });
    this.minVersions = maxVersions(this.minVersions, minVersions);
  }
}

/**
 * Brings the record of roles up to date, and has the labels of these VMs say what the record does. Returns what a later
 * plan must have seen.
 */
export async function setRoles(
  client: KubeClient,
  key: PoolKey,
  vms: readonly Target[],
  concurrency: number,
): Promise<ResourceVersions> {
  const record = new RoleRecord(client, key);
  await record.reconcile();
  let { minVersions } = record;
  const done: string[] = [];
  const poolNow = sharedCall(() => livePool(client, key));
  const act = async ({ name, uid }: Target): Promise<Acted> => {
    let pool: StoredPool | undefined;
    const isWanted = async (): Promise<boolean> => {
      pool = await poolNow();
      return pool !== undefined && pool.metadata.deletionTimestamp === undefined;
    };
    const write = async ({ vm, resourceVersion }: { vm: VmView | null; resourceVersion: string }): Promise<void> => {
      const role = roleIn(pool, vm!);
      minVersions = maxVersions(minVersions, { vms: resourceVersion });
      if (vm!.deleting || vm!.roleLabel === role) return;
      const patch = { metadata: { uid, resourceVersion, labels: { [ROLE_LABEL]: role } } };
      const at = { namespace: key.namespace, name };
      const written = await patchKept(client, VirtualMachines, at, patch);
      minVersions = maxVersions(minVersions, { vms: written.metadata.resourceVersion });
      done.push(name);
    };
    const acted = await ifOwned(client, key, { name, uid }, write, { isWanted });
    return acted === 'done' ? 'done' : 'skipped';
  };
  outcomeOf(await tryEach(vms, act, { most: concurrency }));
  if (done.length > 0) {
    const note = `The label ${ROLE_LABEL} of ${formatNames(done)} did not show their roles in the pool, and now does`;
    await recordEvent(client, key, { type: 'Warning', reason: 'RoleLabelCorrected', action: 'ChangeMembers', note });
  }
  return minVersions;
}
