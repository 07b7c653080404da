import { isDeepStrictEqual } from 'node:util';
import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import { countOf } from '../../api/lib/int-or-percent.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { DEFAULT_MAX_UNAVAILABLE } from '../../api/rules/pool-defaults.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { roleOf, type MemberRole } from '../../decisions/views/vm.ts';
import type { VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { activityNow, isByWorker, isDeletion, isGoing, isReady, isRemoved, runs, type Pool } from './facts.ts';
import { CALL_MS, KNOWN_AFTER_MS, Readings, type Watched } from './readings.ts';
import type { Write } from './world/api-server.ts';
import type { Call } from './world/model-client.ts';
import type { Onlooker } from './world/onlooker.ts';

/** What is recorded of a VM. */
interface RecordedVm {
  name: string;
  pool: string | null;
  /** When its VMI began to run; null while none runs. */
  runsSince: number | null;
  /** Longest run of any of its VMIs, in milliseconds. */
  longestRunMs: number;
  /** Since when it has not been ready; null while it is ready. */
  downSince: number | null;
  /** When it last became ready. */
  readyAt: number;
  /** The activity or process that deleted it. */
  deletedBy: string | null;
}

/**
 * Limits of a pool from `at` on. `surge`: how many VMs may be extra; `standby`: how many are to be ready to become
 * replicas.
 */
interface Limits {
  at: number;
  most: number;
  surge: number;
  standby: number;
  replicas: number;
  revision: string;
}

/** Records what the guarantees need to know of the past of pools and their VMs. Times are in milliseconds. */
export class PoolRecord implements Onlooker {
  readonly #world: Watched;
  readonly #readings: Readings;
  readonly #vms = new Map<string, RecordedVm>();
  /** When users last took a VM from a pool, or changed its number of replicas, by the pool's UID. */
  readonly #meddled = new Map<string, number>();
  /** When the pool's spec last changed in any way, by the pool's UID. */
  readonly #changed = new Map<string, number>();
  /** Limits of each pool, the newest last. */
  readonly #limits = new Map<string, Limits[]>();
  /** What workers have made each VM, by its UID, whatever others have written on its label. */
  readonly #roles = new Map<string, MemberRole | null>();
  /** What the VM was before the last write of a VM. */
  #formerRole: MemberRole | null = null;
  /** Names whose VM healing removed, each after the UID of its pool. */
  readonly #wasHealed = new Set<string>();

  constructor(world: Watched) {
    this.#world = world;
    this.#readings = new Readings(world);
  }

  onCall(call: Call): void {
    this.#readings.note(call);
  }

  onWrite(write: Write, call: Call | null): void {
    const isWorker = isByWorker(call);
    if (write.resource === VirtualMachinePools) this.#poolWritten(write);
    if (write.resource === VirtualMachines) {
      if (isWorker) this.#tell(write, call!);
      this.#vmWritten(write, isWorker, call);
    }
    if (write.resource === VirtualMachineInstances) this.#vmiWritten(write);
  }

  // What happens.

  #tell({ before, after }: Write, { process }: Call): void {
    const object = (after ?? before)!;
    const what =
      before === undefined
        ? 'creates'
        : after === undefined || (isGoing(after) && !isGoing(before))
          ? 'deletes'
          : 'writes';
    const from = before?.metadata.labels?.[REVISION_LABEL];
    const to = after?.metadata.labels?.[REVISION_LABEL];
    this.#world.say(
      `${process.name} ${activityNow() ?? ''} ${what} ${object.metadata.name}${from === to ? '' : ` ${from} -> ${to}`}`,
    );
  }

  #poolWritten({ before, after }: Write): void {
    const pool = after as Pool | undefined;
    if (pool === undefined) return;
    const { uid } = pool.metadata;
    const replicas = wantedReplicas(pool);
    if (before === undefined || wantedReplicas(before as Pool) !== replicas) this.#meddled.set(uid, this.#now);
    if ((before?.metadata.generation ?? 0) !== (pool.metadata.generation ?? 0)) this.#changed.set(uid, this.#now);
    const { maxUnavailable = DEFAULT_MAX_UNAVAILABLE, maxSurge = 0 } = pool.spec;
    const surge = countOf(maxSurge, replicas, 0, Math.ceil);
    const most = countOf(maxUnavailable, replicas, surge > 0 ? 0 : 1);
    const limits = this.#limits.get(uid) ?? [];
    const standby = pool.spec.standby?.replicas ?? 0;
    const revision = revisionOf(poolTemplate(pool.spec));
    const now = { replicas, standby, most, surge, revision };
    const { at: _at, ...last } = limits.at(-1) ?? {};
    if (!isDeepStrictEqual(last, now)) this.#limits.set(uid, [...limits, { at: this.#now, ...now }]);
  }

  #vmWritten({ before, after }: Write, isWorker: boolean, call: Call | null): void {
    const hasOtherOwner = controllerOf(after ?? before!)?.uid !== controllerOf(before ?? after!)?.uid;
    const isPromoted = isWorker && activityNow() === 'promoteStandbyVms';
    this.#formerRole = this.#roleOf((before ?? after)!);
    if (after !== undefined && (before === undefined || isPromoted || hasOtherOwner))
      this.#roles.set(after.metadata.uid, roleOf(after.metadata.labels));
    const { uid, name } = (after ?? before)!.metadata;
    const owner = after === undefined ? undefined : controllerOf(after);
    if (before === undefined) {
      this.#vms.set(uid, {
        name,
        pool: owner?.uid ?? null,
        runsSince: null,
        longestRunMs: 0,
        downSince: this.#now,
        readyAt: 0,
        deletedBy: null,
      });
      return;
    }
    const vm = this.#vms.get(uid)!;
    const hasLeft = after === undefined || controllerOf(after)?.uid !== controllerOf(before)?.uid;
    const isDeleted = isDeletion(before, after);
    if (((hasLeft && !isGoing(before)) || isDeleted) && vm.pool !== null && !isWorker)
      this.#meddled.set(vm.pool, this.#now);
    if (isDeleted) vm.deletedBy = isWorker ? activityNow() : (call?.process.name ?? 'nobody');
    // Once it is gone, its disks may still be deleted as its pool's.
    if (after !== undefined) vm.pool = owner?.uid ?? null;
    // From now on it should run, and its downtime counts.
    if (after !== undefined && !runs(before) && runs(after) && vm.downSince !== null) vm.downSince = this.#now;
    const isHealed = isWorker && activityNow() === 'removeUnhealthyVm' && leaves(before, after);
    const pool = isHealed ? this.poolOf(before) : undefined;
    if (pool !== undefined) this.#wasHealed.add(`${pool.metadata.uid}/${name}`);
  }

  #vmiWritten({ before, after }: Write): void {
    const vmi = (after ?? before) as Stored<VirtualMachineInstance>;
    const known = this.#vms.get(controllerOf(vmi)?.uid ?? '');
    if (known === undefined) return;
    const isReady = this.isReady(vmi.metadata.name);
    if (known.runsSince !== null) known.longestRunMs = Math.max(known.longestRunMs, this.#now - known.runsSince);
    known.runsSince = after !== undefined && vmi.status?.phase === 'Running' ? (known.runsSince ?? this.#now) : null;
    if (isReady && known.downSince !== null) known.readyAt = this.#now;
    known.downSince = isReady ? null : (known.downSince ?? this.#now);
  }

  // What has happened.

  get #now(): number {
    return this.#world.time.now;
  }

  vm(uid: string): Readonly<RecordedVm> | undefined {
    return this.#vms.get(uid);
  }

  /** When the attempt that runs now has read the pool; undefined if it has not. */
  readAt(uid: string): number | undefined {
    return this.#readings.of(uid);
  }

  /** When users last took a VM from the pool, or changed its number of replicas; 0 if never. */
  meddledAt(uid: string): number {
    return this.#meddled.get(uid) ?? 0;
  }

  /** When the pool's spec last changed in any way; 0 if never. */
  changedAt(uid: string): number {
    return this.#changed.get(uid) ?? 0;
  }

  /** All limits of the pool, the newest last. */
  limitsOf(pool: Pool): readonly Limits[] {
    return this.#limits.get(pool.metadata.uid) ?? [];
  }

  /** The limits that were in force at some time from `since` until now. */
  limitsSince(pool: Pool, since: number): Limits[] {
    const all = this.limitsOf(pool);
    return all.filter((_limit, index) => (all[index + 1]?.at ?? Infinity) >= since);
  }

  /** The limits that the attempt which runs now may know of. */
  knownLimits(pool: Pool): Limits[] {
    return this.limitsSince(pool, (this.readAt(pool.metadata.uid) ?? this.#now - KNOWN_AFTER_MS) - CALL_MS);
  }

  /** Reports whether healing has removed the pool's VM of this name. */
  wasHealed(pool: Pool, name: string): boolean {
    return this.#wasHealed.has(`${pool.metadata.uid}/${name}`);
  }

  /** Milliseconds since the VM was last ready; 0 if it is ready. */
  downMs(vm: Stored): number {
    const since = this.#vms.get(vm.metadata.uid)?.downSince;
    return since === null || since === undefined ? 0 : this.#now - since;
  }

  // What there is.

  poolOf(vm: Stored | undefined): Pool | undefined {
    const owner = vm === undefined ? undefined : controllerOf(vm);
    if (owner?.kind !== 'VirtualMachinePool') return undefined;
    const pool = this.#world.pool(owner.name);
    return pool?.metadata.uid === owner.uid ? pool : undefined;
  }

  /** The pool with this UID; undefined if it is gone. */
  poolWith(uid: string | null): Pool | undefined {
    const all = this.#world.server.all(VirtualMachinePools) as Pool[];
    return all.find(({ metadata }) => metadata.uid === uid);
  }

  /** VMs of the pool that are its replicas, and no others that it has beside them. */
  replicasOf(uid: string): Stored[] {
    return this.#world.vmsOf(uid).filter((vm) => this.isRegular(vm));
  }

  /** Reports whether the VM is one of its pool's replicas. */
  isRegular(vm: Stored): boolean {
    return this.#roleOf(vm) === null;
  }

  /** Reports whether the VM that was written last was one of its pool's replicas before. */
  get wasRegular(): boolean {
    return this.#formerRole === null;
  }

  /** Reports whether the VM is extra. */
  isSurge(vm: Stored): boolean {
    return this.#roleOf(vm) === 'Surge';
  }

  /** Reports the same of a VM that may be gone, by its UID. */
  wasSurge(uid: string): boolean {
    return this.#roles.get(uid) === 'Surge';
  }

  #roleOf({ metadata: { uid, labels } }: Stored): MemberRole | null {
    const role = this.#roles.get(uid);
    return role === undefined ? roleOf(labels) : role;
  }

  standbyOf(uid: string): Stored[] {
    return this.#world.vmsOf(uid).filter((vm) => !this.isRegular(vm) && !this.isSurge(vm));
  }

  isReady(name: string): boolean {
    return isReady(this.#world.vmi(name));
  }
}

/** Reports whether this write deletes the VM, or marks it to leave its pool. */
const leaves = (before: Stored, after: Stored | undefined): boolean =>
  isDeletion(before, after) || (after !== undefined && isRemoved(after) && !isRemoved(before));
