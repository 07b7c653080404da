import type { Stored } from '../../../api/objects.ts';
import { inFlightView, type VirtualMachineInstanceMigration } from '../../../decisions/from-object/migration.ts';
import { liveVmi } from '../../../decisions/health/availability.ts';
import type { MigrationInFlight } from '../../../decisions/views/migration.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { seenVm, seenVmi } from '../../view/vm-state.ts';
import type { Cycle } from '../../view/vm-wait.ts';
import type { Seat } from './card.ts';

/** A migration that has not ended, or null: then it is only known to have been there. */
export type SeenMigration = MigrationInFlight | null;

export const seenMigration = (object: Stored<VirtualMachineInstanceMigration>): SeenMigration => inFlightView(object);

/** What pools say about their VMs, by the VM's key. */
export interface PoolFlags {
  /** Its replacement; null if it is not replaced. */
  cycle: Cycle | null;
  /** When it failed in the rollout, in milliseconds since the epoch; null if that does not count it as failed. */
  failedAt: number | null;
  isClaimed: boolean;
}

const SEATS = { Surge: 1, Standby: 2 } as const;
export const NO_FLAGS: PoolFlags = { cycle: null, failedAt: null, isClaimed: false };

/** VMs, VMIs and migrations as they are watched, by `namespace/name`; and which of them have changed. */
export class Members {
  readonly #vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  readonly #migrations = new Map<string, Map<string, MigrationInFlight>>();
  readonly #flags = new Map<string, PoolFlags>();
  /** Members that are to be looked at again. */
  readonly dirty = new Set<string>();
  /** Nodes that do not answer: the state in their VMIs is out of date. */
  readonly #lostNodes = new Set<string>();
  /** Namespaces in which the user may not see VMIs; `*`: in none. */
  readonly #unseenVmis = new Set<string>();

  setVm(key: string, vm: VmView | undefined): void {
    set(this.#vms, key, vm);
    this.dirty.add(key);
  }

  setVmi(key: string, vmi: VmiView | undefined): void {
    set(this.vmis, key, vmi);
    this.dirty.add(key);
  }

  setMigration(key: string, before: SeenMigration | undefined, after: SeenMigration | undefined): void {
    for (const [view, isThere] of [
      [before, false],
      [after, true],
    ] as const) {
      if (view == null) continue;
      const vmi = `${view.namespace}/${view.vmiName}`;
      const all = this.#migrations.get(vmi) ?? new Map<string, MigrationInFlight>();
      if (isThere) all.set(key, view);
      else all.delete(key);
      set(this.#migrations, vmi, all.size === 0 ? undefined : all);
      this.dirty.add(vmi);
    }
  }

  setUnseenVmis(namespace: string, isUnseen: boolean): void {
    if (this.#unseenVmis.has(namespace) === isUnseen) return;
    if (isUnseen) this.#unseenVmis.add(namespace);
    else this.#unseenVmis.delete(namespace);
    for (const key of this.#vms.keys()) this.dirty.add(key);
  }

  /** `vmis`: the keys of those on the node. */
  setNodeLost(node: string, isLost: boolean, vmis: Iterable<string>): void {
    if (this.#lostNodes.has(node) === isLost) return;
    if (isLost) this.#lostNodes.add(node);
    else this.#lostNodes.delete(node);
    for (const key of vmis) this.dirty.add(key);
  }

  isNodeLost(node: string | null): boolean {
    return node !== null && this.#lostNodes.has(node);
  }

  #vmiOf(key: string): VmiView | undefined {
    const vmi = this.vmis.get(key);
    return vmi !== undefined && this.isNodeLost(vmi.node) ? { ...vmi, nodeLost: true } : vmi;
  }

  setFlags(key: string, flags: PoolFlags): void {
    set(this.#flags, key, flags === NO_FLAGS ? undefined : flags);
    this.dirty.add(key);
  }

  isMigrating(key: string): boolean {
    return this.#migrations.has(key);
  }

  #migrationOf(key: string): MigrationInFlight | undefined {
    return this.#migrations.get(key)?.values().next().value;
  }

  /** The key of the owner, and the seat; null if the member does not exist. */
  seatOf(key: string): { owner: string; namespace: string; seat: Seat } | null {
    const vm = this.#vms.get(key);
    const vmi = this.#vmiOf(key);
    if (vm !== undefined) return this.#vmSeat(key, vm, vmi);
    const owner = vmi?.standalone?.owner;
    if (vmi === undefined || owner?.kind !== 'VirtualMachineInstanceReplicaSet') return null;
    const { namespace, name } = vmi;
    const seen = seenVmi(vmi, this.#migrationOf(key));
    const seat: Seat = { ...seen, name, revision: null, role: undefined, downSince: timeOf(vmi.readySince) };
    return { owner: ownerKey(owner.kind, namespace, owner.uid), namespace, seat };
  }

  #vmSeat(key: string, vm: VmView, found: VmiView | undefined): { owner: string; namespace: string; seat: Seat } {
    const { namespace, name, owner, roleLabel } = vm;
    const isUnseen = this.#unseenVmis.has('*') || this.#unseenVmis.has(namespace);
    const vmi = found?.vmUid === vm.uid ? found : undefined;
    const { cycle, failedAt, isClaimed } = this.#flags.get(key) ?? NO_FLAGS;
    // A later VM of the same name has not failed.
    const hasFailed = failedAt !== null && vm.createdAt <= failedAt;
    const seat: Seat = {
      ...seenVm(vm, isUnseen ? null : vmi, { migration: this.#migrationOf(key), cycle, hasFailed, isClaimed }),
      name,
      revision: liveVmi(vmi)?.revision ?? vm.revision,
      role: roleLabel === null ? undefined : SEATS[roleLabel],
      downSince: timeOf(vm.notReadySince),
    };
    return {
      owner: owner === null ? `none/${namespace}` : ownerKey(owner.kind, namespace, owner.uid),
      namespace,
      seat,
    };
  }
}

export const ownerKey = (kind: string, namespace: string, uid: string): string => `${kind}/${namespace}/${uid}`;

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

function set<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
