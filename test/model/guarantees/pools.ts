import { countOf, isZero } from '../../../api/lib/int-or-percent.ts';
import { PROTECT_ANNOTATION, REVISION_LABEL, SET_RIGHT_ANNOTATION } from '../../../api/names.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { DEFAULT_MAX_UNAVAILABLE } from '../../../api/pool-defaults.ts';
import type { PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import {
  DataVolumes,
  PersistentVolumeClaims,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { Migration, VirtualMachineInstance } from '../../../simulator/types.ts';
import { claimsOf } from '../../../simulator/vm/volumes.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import type { UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import {
  activityNow,
  coresOf,
  isActive,
  isGoing,
  isNamed,
  isReady,
  isRegular,
  isRemoved,
  isSurge,
  runNow,
  runs,
} from '../facts.ts';
import { Readings } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { Onlooker, World } from '../world/world.ts';
import { isSetKind } from './sets.ts';

type Pool = Stored & { spec: PoolSpec; status?: PoolStatus };

/** What is recorded of a VM. */
interface Vm {
  name: string;
  pool: string | null;
  createdAt: number;
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
 * Milliseconds by which a worker's read may be outdated when a write based on it arrives: one call, and the wait for
 * its turn.
 */
const CALL_MS = 50;
/** Greatest delay of a watch, and of a call, in milliseconds. */
const KNOWN_AFTER_MS = 3_000;
/** A scale-in planned some time ago knew of VMs that have been down for this many milliseconds. */
const LONG_DOWN_MS = 45_000;
/** Milliseconds without confirmation after which an attempt must not act any more. */
const STALE_MS = 10_000;
/** Milliseconds within which a missing VM is recreated, if a worker can. */
const MADE_WITHIN_MS = 120_000;

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

/** Checks each write of a worker against the guarantees in `docs/guarantees.md`. */
export class Guarantees implements Onlooker {
  readonly #world: World;
  readonly #off: ReadonlySet<string>;
  readonly #vms = new Map<string, Vm>();
  readonly #readings: Readings;
  /** When people last took a VM from a pool, or changed its number of replicas, by the pool's UID. */
  readonly #meddled = new Map<string, number>();
  /** When the pool's spec last changed in any way, by the pool's UID. */
  readonly #changed = new Map<string, number>();
  /** Limits of each pool, the newest last. */
  readonly #limits = new Map<string, Limits[]>();
  /**
   * VMs that drover took down and that are not back yet, by UID, with the deleted VMI if there was one, or with the
   * migration that may take it down.
   */
  readonly #down = new Map<string, { pool: string; name: string; vmi: string | undefined; migration?: string }>();
  readonly #missingSince = new Map<string, number>();
  /** Names whose VM healing removed, each after the UID of its pool. */
  readonly #wasHealed = new Set<string>();

  /** `off`: numbers of guarantees that are not checked. */
  constructor(world: World, off: readonly string[] = []) {
    this.#world = world;
    this.#off = new Set(off);
    this.#readings = new Readings(world);
    world.onlookers.push(this);
  }

  onCall(call: Call): void {
    this.#readings.note(call);
  }

  onWrite(write: Write, call: Call | null): void {
    const isWorker = call?.process.name.startsWith('worker') === true;
    if (write.resource === VirtualMachinePools) this.#poolWritten(write);
    if (write.resource === VirtualMachines) {
      if (isWorker) this.#tell(write, call);
      this.#vmWritten(write, isWorker, call);
    }
    if (write.resource === VirtualMachineInstances) this.#vmiWritten(write, isWorker);
    if (write.resource === VirtualMachineInstanceMigrations && isWorker) this.#migrationWritten(write);
    if (write.resource === DataVolumes || write.resource === PersistentVolumeClaims) this.#diskWritten(write);
    this.#forgetThoseBack();
  }

  get #now(): number {
    return this.#world.time.now;
  }

  #broken(number: string, words: string): void {
    if (!this.#off.has(number)) this.#world.break(`${number}: ${words}`);
  }

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

  // Pools.

  #poolWritten({ before, after }: Write): void {
    const pool = after as Pool | undefined;
    if (pool === undefined) return;
    const { uid } = pool.metadata;
    const was = (before as Pool | undefined)?.spec;
    if (was?.replicas !== pool.spec.replicas) this.#meddled.set(uid, this.#now);
    if ((before?.metadata.generation ?? 0) !== (pool.metadata.generation ?? 0)) this.#changed.set(uid, this.#now);
    const { replicas, maxUnavailable = DEFAULT_MAX_UNAVAILABLE, maxSurge = 0 } = pool.spec;
    const surge = countOf(maxSurge, replicas, 0, Math.ceil);
    const most = countOf(maxUnavailable, replicas, surge > 0 && isZero(maxUnavailable) ? 0 : 1);
    const limits = this.#limits.get(uid) ?? [];
    const standby = pool.spec.standby?.replicas ?? 0;
    const revision = revisionOf(poolTemplate(pool.spec));
    this.#limits.set(uid, [...limits, { at: this.#now, replicas, standby, most, surge, revision }]);
    this.#checkStatus(pool);
  }

  /** Checks that a new pool has nothing of an earlier pool of its name. */
  #checkStatus({ metadata, status }: Pool): void {
    const made = Date.parse(metadata.creationTimestamp);
    const { rollout, healing } = status ?? {};
    const times = [
      rollout?.startedAt,
      rollout?.paused?.at,
      rollout?.halted?.at,
      ...(rollout?.failures ?? []).map(({ at }) => at),
      healing?.paused?.at,
      ...(healing?.cycles ?? []).map(({ startedAt }) => startedAt),
    ];
    const old = times.find((time) => time !== undefined && Date.parse(time) < made);
    if (old !== undefined)
      this.#broken(
        'G14',
        `pool ${metadata.name} was made at ${metadata.creationTimestamp}, and its status tells of ${old}`,
      );
  }

  /** The limits that were in force at some time from `since` until now. */
  #lately(pool: Pool, since: number): Limits[] {
    const all = this.#limits.get(pool.metadata.uid) ?? [];
    return all.filter((_limit, index) => (all[index + 1]?.at ?? Infinity) >= since);
  }

  #poolOf(vm: Stored | undefined): Pool | undefined {
    const owner = vm === undefined ? undefined : controllerOf(vm);
    if (owner?.kind !== 'VirtualMachinePool') return undefined;
    const pool = this.#world.pool(owner.name);
    return pool?.metadata.uid === owner.uid ? (pool as Pool) : undefined;
  }

  // VMs.

  #vmWritten({ before, after }: Write, isWorker: boolean, call: Call | null): void {
    const { uid, name } = (after ?? before)!.metadata;
    const owner = after === undefined ? undefined : controllerOf(after);
    if (before === undefined) {
      this.#vms.set(uid, {
        name,
        pool: owner?.uid ?? null,
        createdAt: this.#now,
        runsSince: null,
        longestRunMs: 0,
        downSince: this.#now,
        readyAt: 0,
        deletedBy: null,
      });
      if (isWorker) this.#created(after!);
      return;
    }
    const vm = this.#vms.get(uid)!;
    const hasLeft = after === undefined || controllerOf(after)?.uid !== controllerOf(before)?.uid;
    const isDeleted = !isGoing(before) && (after === undefined || isGoing(after));
    if (((hasLeft && !isGoing(before)) || isDeleted) && vm.pool !== null && !isWorker)
      this.#meddled.set(vm.pool, this.#now);
    if (isDeleted) vm.deletedBy = isWorker ? activityNow() : (call?.process.name ?? 'nobody');
    vm.pool = owner?.uid ?? null;
    // From now on it should run, and its downtime counts.
    if (after !== undefined && !runs(before) && runs(after) && vm.downSince !== null) vm.downSince = this.#now;
    if (!isWorker || (after === undefined && !isDeleted)) return;
    if (isDeleted) this.#deletedByWorker(before);
    else if (after !== undefined && isRemoved(after) && !isRemoved(before)) {
      if (activityNow() === 'removeSickVm') this.#healed(before);
      else this.#leaves(before, 'halted to leave');
    }
    if (after !== undefined && !isDeleted) this.#changedByWorker(before, after);
  }

  #created(vm: Stored): void {
    const pool = this.#poolOf(vm);
    if (pool === undefined) return;
    if (isSurge(vm)) return this.#madeExtra(vm, pool);
    if (!isRegular(vm)) return this.#standbyCreated(pool, vm);
    const count = this.#replicasOf(pool.metadata.uid).length;
    const since = (this.#readings.of(pool.metadata.uid) ?? this.#now - KNOWN_AFTER_MS) - CALL_MS;
    const wanted = Math.max(...this.#lately(pool, since).map(({ replicas }) => replicas));
    if (count > wanted && !this.#comesBack(pool, vm))
      this.#broken('G3', `${vm.metadata.name} is made, and the pool has ${count} VMs then and wants ${wanted}`);
  }

  /** Reports whether healing has removed this VM, and a scale-in would not have. */
  #comesBack({ metadata: { uid }, spec: { scaleInStrategy } }: Pool, { metadata: { name } }: Stored): boolean {
    const isLeft = scaleInStrategy !== undefined && scaleInStrategy.proactive?.windows !== undefined;
    const isOfOthers = scaleInStrategy !== undefined && scaleInStrategy.proactive === undefined;
    return (isLeft || isOfOthers) && this.#wasHealed.has(`${uid}/${name}`);
  }

  #madeExtra({ metadata: { name } }: Stored, pool: Pool): void {
    const { uid } = pool.metadata;
    const count = this.#world.vmsOf(uid).filter(isSurge).length;
    const since = (this.#readings.of(uid) ?? this.#now - KNOWN_AFTER_MS) - CALL_MS;
    const most = Math.max(...this.#lately(pool, since).map(({ surge }) => surge));
    if (count > most) this.#broken('G3', `${name} is made, and ${count} VMs are extra then, of at most ${most}`);
  }

  #standbyCreated(pool: Pool, vm: Stored): void {
    const { name } = vm.metadata;
    const count = this.#standbyOf(pool.metadata.uid).length;
    const since = (this.#readings.of(pool.metadata.uid) ?? this.#now - KNOWN_AFTER_MS) - CALL_MS;
    const wanted = Math.max(...this.#lately(pool, since).map(({ standby }) => standby));
    if (count > wanted && !this.#comesBack(pool, vm))
      this.#broken('G23', `${name} is made, and the pool has ${count} standby VMs then and wants ${wanted}`);
  }

  /** Checks that a standby VM becomes a replica only while one is missing. */
  #promoted(vm: Stored): void {
    const pool = this.#poolOf(vm);
    if (pool === undefined) return;
    const { uid } = pool.metadata;
    const count = this.#replicasOf(uid).length;
    const since = (this.#readings.of(uid) ?? this.#now - KNOWN_AFTER_MS) - CALL_MS;
    const wanted = Math.max(...this.#lately(pool, since).map(({ replicas }) => replicas));
    if (count > wanted && (this.#meddled.get(uid) ?? 0) < this.#now - KNOWN_AFTER_MS)
      this.#broken('G23', `${vm.metadata.name} is promoted, and the pool has ${count} VMs then and wants ${wanted}`);
  }

  #deletedByWorker(vm: Stored): void {
    const { name } = vm.metadata;
    const owner = controllerOf(vm);
    if (isSetKind(owner?.kind)) return;
    if (owner?.kind !== 'VirtualMachinePool') return this.#broken('G4', `${name} is deleted, and is no pool's`);
    const activity = activityNow();
    if (activity === 'removeSickVm') this.#healed(vm);
    else if (activity === 'removeVms') this.#takenDown(vm, undefined);
    else this.#leaves(vm, 'deleted');
  }

  /** Checks the removal of a VM by scale-in; removals together with the pool are always allowed. */
  #leaves(vm: Stored, how: string): void {
    const pool = this.#poolOf(vm);
    if (pool === undefined || isGoing(pool) || isRemoved(vm)) return;
    const { name } = vm.metadata;
    const { uid } = pool.metadata;
    if (isNamed(pool, vm)) return;
    if ((vm.metadata.annotations?.[PROTECT_ANNOTATION] ?? 'false') !== 'false')
      this.#broken('G1', `${name} is ${how}, and is protected from scale-in`);
    if (isSurge(vm)) return this.#isReady(name) ? this.#checkBudget(pool, `the extra ${name} is ${how}`) : undefined;
    if (!isRegular(vm)) return this.#standbyLeaves(pool, vm, how);
    const active = this.#replicasOf(uid).filter((other) => isActive(other) && !isNamed(pool, other)).length;
    const { replicas } = pool.spec;
    // `staying` no longer includes this VM.
    if (active < replicas) {
      const read = this.#readings.of(uid);
      const isExcused = read !== undefined && read > this.#now - STALE_MS && (this.#meddled.get(uid) ?? 0) >= read;
      if (!isExcused)
        this.#broken(
          'G1',
          `${name} is ${how}: ${active} stay, and ${replicas} are wanted${read === undefined ? '; nobody asked the API server' : ''}`,
        );
    }
    const policy = pool.spec.scaleInStrategy?.proactive?.selectionPolicy;
    if (policy?.orderedPolicies !== undefined || !this.#isReady(name)) return;
    const at = this.#now;
    this.#world.time.in(KNOWN_AFTER_MS, () => {
      if ((this.#meddled.get(uid) ?? 0) > at) return;
      const worse = this.#replicasOf(uid).find(
        (other) => isActive(other) && runs(other) && this.#downMs(other) > LONG_DOWN_MS,
      );
      if (worse !== undefined)
        this.#broken(
          'G2',
          `${name} was ready and is ${how} by scale-in, and ${worse.metadata.name} stays, which is not ready for ${this.#downMs(worse)} ms`,
        );
    });
  }

  #standbyLeaves(pool: Pool, { metadata: { name } }: Stored, how: string): void {
    const { uid } = pool.metadata;
    const staying = this.#standbyOf(uid).filter((other) => isActive(other) && !isNamed(pool, other)).length;
    const since = (this.#readings.of(uid) ?? this.#now) - CALL_MS;
    const wanted = Math.min(...this.#lately(pool, since).map(({ standby }) => standby));
    if (staying < wanted && (this.#meddled.get(uid) ?? 0) < this.#now - STALE_MS)
      this.#broken('G23', `${name} is ${how}: ${staying} standby VMs stay, and ${wanted} are wanted`);
  }

  #healed(vm: Stored): void {
    const { name, uid } = vm.metadata;
    const pool = this.#poolOf(vm);
    if (this.#isReady(name)) this.#broken('G5', `${name} is deleted as sick, and is ready`);
    if (vm.metadata.annotations?.['drover.dev/do-not-disrupt'] === 'true')
      this.#broken('G5', `${name} is deleted as sick, and its owner asked not to`);
    const known = this.#vms.get(uid)!;
    if (pool !== undefined) this.#wasHealed.add(`${pool.metadata.uid}/${name}`);
    if (pool !== undefined && pool.spec.autohealing?.preserveStorage !== false)
      this.#world.say(`${name} is deleted as sick; its VMIs ran for ${known.longestRunMs} ms at most`);
  }

  #changedByWorker(before: Stored, after: Stored): void {
    if (!isRegular(before) && isRegular(after)) this.#promoted(after);
    const from = before.metadata.labels?.[REVISION_LABEL];
    const to = after.metadata.labels?.[REVISION_LABEL];
    if (from === to) this.#setRight(before, after);
    if (from === to || to === undefined) return;
    const pool = this.#poolOf(after);
    if (pool === undefined) return;
    const { status } = pool;
    const halted = status?.rollout?.halted?.kind;
    const isTold = (halted === 'Undoing' || halted === 'UndoFailed') && to === status?.currentRevision;
    const isUndo = isTold || this.#isUndone(pool, from, to);
    // Ignores the latest changes: the writer may have read the pool just before its template went back to an earlier
    // one.
    const revisions = (this.#limits.get(pool.metadata.uid) ?? [])
      .filter(({ at }) => at <= this.#now - CALL_MS)
      .map(({ revision }) => revision);
    const isOlder = from !== undefined && revisions.lastIndexOf(to) < revisions.lastIndexOf(from);
    if (!isUndo && isOlder)
      this.#broken(
        'G8',
        `${after.metadata.name} is written from ${from} to ${to}, which is older; the pool's template is ${revisionOf(poolTemplate(pool.spec))}`,
      );
  }

  /**
   * Reports whether the batch that writes this undoes the rollout of the pool's template. The pool's status tells of an
   * undo once a worker has written it, which may be after the batch has begun.
   */
  #isUndone(pool: Pool, from: string | undefined, to: string): boolean {
    const { batch } = (this.#world.temporal.runs.get(runNow() ?? '')?.args[0] ?? {}) as Partial<UpdateBatchInput>;
    const lately = this.#lately(pool, this.#now - CALL_MS).map(({ revision }) => revision);
    return (
      batch !== undefined &&
      batch.rollout !== batch.revision &&
      batch.revision === to &&
      batch.rollout === from &&
      to === pool.status?.currentRevision &&
      lately.includes(batch.rollout)
    );
  }

  /** Checks that what a person has changed in a VM stays, unless people have asked for another thing. */
  #setRight(before: Stored, after: Stored): void {
    const [was, is] = [before, after].map(coresOf);
    const isOrdered = before.metadata.annotations?.[SET_RIGHT_ANNOTATION] !== undefined;
    const pool = this.#poolOf(before);
    const corrects =
      pool?.spec.updateStrategy?.proactive?.drift === 'Correct' ||
      (this.#changed.get(pool?.metadata.uid ?? '') ?? 0) >= this.#now - CALL_MS;
    if (was !== is && !isOrdered && !corrects)
      this.#broken(
        'G10',
        `${after.metadata.name} has ${String(was)} cores, and is written with ${String(is)}, which nobody asked for`,
      );
  }

  // VMIs.

  #vmiWritten({ before, after }: Write, isWorker: boolean): void {
    const vmi = (after ?? before) as Stored<VirtualMachineInstance>;
    const vm = this.#world.vm(vmi.metadata.name);
    const owner = controllerOf(vmi)?.uid;
    const known = owner === undefined ? undefined : this.#vms.get(owner);
    if (known !== undefined) {
      const isReady = this.#isReady(vmi.metadata.name);
      if (known.runsSince !== null) known.longestRunMs = Math.max(known.longestRunMs, this.#now - known.runsSince);
      known.runsSince = after !== undefined && vmi.status?.phase === 'Running' ? (known.runsSince ?? this.#now) : null;
      if (isReady && known.downSince !== null) known.readyAt = this.#now;
      known.downSince = isReady ? null : (known.downSince ?? this.#now);
    }
    if (
      isWorker &&
      before !== undefined &&
      !isGoing(before) &&
      (after === undefined || isGoing(after)) &&
      vm !== undefined
    )
      this.#takenDown(vm, before);
    if (before === undefined && after !== undefined) this.#checkSharing(after as Stored<VirtualMachineInstance>);
  }

  /** Checks that a VM is moved once at a time, and only if it is to leave its node. */
  #migrationWritten({ before, after }: Write): void {
    if (before !== undefined || after === undefined) return;
    const { metadata, spec } = after as Stored<Migration>;
    const vm = this.#world.vm(spec.vmiName!);
    const vmi = this.#world.vmi(spec.vmiName!);
    if (vm === undefined || vmi === undefined) return;
    const { nodeName, evacuationNodeName } = vmi.status ?? {};
    const isAlone = this.#world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .every((other) => other.metadata.name === metadata.name || other.spec.vmiName !== spec.vmiName || isOver(other));
    if (evacuationNodeName !== nodeName || !isAlone)
      this.#broken(
        'G22',
        `${metadata.name} is made for ${spec.vmiName}, on ${nodeName}, to leave ${evacuationNodeName}`,
      );
    this.#takenDown(vm, vmi, metadata.name);
  }

  /** Checks that no two VMs use one disk. */
  #checkSharing(vmi: Stored<VirtualMachineInstance>): void {
    const claims = new Set(claimsOf(vmi.spec));
    if (claims.size === 0) return;
    for (const other of this.#world.server.all<VirtualMachineInstance>(VirtualMachineInstances)) {
      if (
        other.metadata.name === vmi.metadata.name ||
        other.status?.phase === 'Succeeded' ||
        other.status?.phase === 'Failed'
      )
        continue;
      const shared = claimsOf(other.spec).find((claim) => claims.has(claim));
      if (shared !== undefined)
        this.#broken('G6', `${vmi.metadata.name} is started on disk ${shared}, which ${other.metadata.name} uses`);
    }
  }

  /** Checks that taking a VM down on purpose leaves the pool within its disruption budget. */
  #takenDown(vm: Stored, vmi: Stored | undefined, migration?: string): void {
    const pool = this.#poolOf(vm);
    if (pool === undefined || isGoing(pool) || !runs(vm) || !isRegular(vm)) return;
    const { name, uid } = vm.metadata;
    const known = this.#vms.get(uid);
    const wasDown =
      known?.downSince !== null && this.#now - (known?.downSince ?? 0) > 0 && !this.#wasReadyBefore(known);
    if (isSurge(vm)) return this.#checkBudget(pool, `the extra ${name} is taken down`);
    const moved = migration === undefined ? {} : { migration };
    this.#down.set(uid, { pool: pool.metadata.uid, name, vmi: vmi?.metadata.uid, ...moved });
    // It already had its place in the budget when it was down, a moment ago.
    if (wasDown || (known !== undefined && known.readyAt > this.#now - KNOWN_AFTER_MS)) return;
    this.#checkBudget(pool, `${name} is taken down`);
  }

  /** Checks that no more VMs are down than may be, with one more for each extra VM that is available. */
  #checkBudget(pool: Pool, what: string): void {
    const { uid } = pool.metadata;
    this.#forgetThoseBack();
    const names = new Set([...this.#down.values()].filter((down) => down.pool === uid).map((down) => down.name));
    const since = Math.min(this.#readings.of(uid) ?? Infinity, this.#now - KNOWN_AFTER_MS);
    const most = Math.max(...this.#lately(pool, since).map((limit) => limit.most)) + this.#standIns(pool);
    for (const other of this.#replicasOf(uid))
      if (isActive(other) && runs(other) && this.#downMs(other) > 2 * KNOWN_AFTER_MS) names.add(other.metadata.name);
    // People may just have taken an extra VM that stood in for others.
    const isExcused = (pool.spec.maxSurge ?? 0) !== 0 && (this.#meddled.get(uid) ?? 0) > this.#now - STALE_MS;
    if (names.size > most && !isExcused)
      this.#broken(
        'G9',
        `${what}, and with it ${[...names].toSorted().join(', ')} are down (${names.size}), of at most ${most}`,
      );
  }

  /** How many extra VMs are available, or were until a moment ago. */
  #standIns(pool: Pool): number {
    const minReadyMs = (pool.spec.rollout?.minReadySeconds ?? 0) * 1000;
    const isAvailableSurge = (vm: Stored): boolean => {
      const known = this.#vms.get(vm.metadata.uid);
      if (known === undefined || !isSurge(vm) || !isActive(vm)) return false;
      return this.#downMs(vm) < KNOWN_AFTER_MS && known.readyAt > 0 && known.readyAt + minReadyMs <= this.#now + 1_000;
    };
    return this.#world.vmsOf(pool.metadata.uid).filter(isAvailableSurge).length;
  }

  /** Reports whether the VM was ready until now: the current write may be the one that took it down. */
  #wasReadyBefore(known: Vm | undefined): boolean {
    return known?.downSince === this.#now;
  }

  #forgetThoseBack(): void {
    for (const [uid, { pool, name, vmi, migration }] of this.#down) {
      const vm = this.#world.vm(name);
      const owner = vm === undefined ? undefined : controllerOf(vm)?.uid;
      const isBack =
        vm !== undefined &&
        this.#isReady(name) &&
        (this.#world.vmi(name)?.metadata.uid !== vmi || this.#hasMoved(migration)) &&
        (vmi !== undefined || vm.metadata.uid !== uid);
      const hasLeft =
        vm !== undefined &&
        (owner !== pool ||
          !runs(vm) ||
          isRemoved(vm) ||
          (vmi !== undefined && isGoing(vm)) ||
          (vmi !== undefined && vm.metadata.uid !== uid));
      const isOver = vm === undefined && vmi !== undefined;
      const live = this.#world.server.all(VirtualMachinePools).find((one) => one.metadata.uid === pool) as
        | Pool
        | undefined;
      const isUnwanted =
        live === undefined ||
        isGoing(live) ||
        (vm === undefined && this.#replicasOf(pool).filter(isActive).length >= live.spec.replicas);
      if (isBack || hasLeft || isOver || isUnwanted) this.#down.delete(uid);
    }
  }

  /** Reports whether this migration has ended. */
  #hasMoved(migration: string | undefined): boolean {
    if (migration === undefined) return false;
    const found = this.#world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .find(({ metadata }) => metadata.name === migration);
    return found === undefined || isOver(found);
  }

  // Disks.

  #diskWritten({ resource, before, after }: Write): void {
    if (before === undefined || isGoing(before) || (after !== undefined && !isGoing(after))) return;
    const { name } = before.metadata;
    // A claim is covered by the DataVolume that owns it.
    const owner = resource === DataVolumes ? controllerOf(before) : undefined;
    const vm = owner === undefined ? undefined : this.#vms.get(owner.uid);
    for (const vmi of this.#world.server.all<VirtualMachineInstance>(VirtualMachineInstances)) {
      const isOther = vm === undefined || vmi.metadata.name !== vm.name;
      const isLive = vmi.status?.phase !== 'Succeeded' && vmi.status?.phase !== 'Failed' && !isGoing(vmi);
      if (isOther && isLive && resource === DataVolumes && claimsOf(vmi.spec).includes(name))
        this.#broken(
          'G6',
          `disk ${name} is deleted with ${vm?.name ?? 'somebody'}, and ${vmi.metadata.name} runs on it`,
        );
    }
    if (vm === undefined) return;
    const pool =
      vm.pool === null
        ? undefined
        : (this.#world.server.all(VirtualMachinePools).find(({ metadata }) => metadata.uid === vm.pool) as
            | Pool
            | undefined);
    const rules = pool?.spec.autohealing;
    // A VMI that ends sooner counts as a failed start.
    const hasRun = vm.longestRunMs > (pool?.spec.rollout?.minReadySeconds ?? 0) * 1000;
    if (vm.deletedBy === 'removeSickVm' && hasRun && rules?.preserveStorage !== false)
      this.#broken('G7', `disk ${name} is deleted by healing, and ${vm.name} has run with it`);
    const isOffline = pool?.spec.scaleInStrategy?.proactive?.statePreservation === 'Offline';
    if (isOffline && (vm.deletedBy === 'deleteVms' || vm.deletedBy === 'haltVms') && !isGoing(pool))
      this.#broken('G7', `disk ${name} is deleted by a scale-in that keeps disks`);
  }

  // Checks over time.

  /** Runs `live`, and checks regularly until it ends that missing VMs are recreated in time. */
  async during(live: () => Promise<void>): Promise<void> {
    const clock = setInterval(() => this.#checkMissing(), 5_000);
    await live();
    clearInterval(clock);
  }

  /** Checks that missing VMs are recreated in time; time in which no worker can do it does not count. */
  #checkMissing(): void {
    const some = this.#world.workers.some(({ process }) => process.state === 'running' && !process.isCutOff);
    for (const object of this.#world.server.all(VirtualMachinePools)) {
      const pool = object as Pool;
      const { uid, name } = pool.metadata;
      const held = (pool.status?.healing?.cycles ?? []).length;
      const isTold = (pool.status?.conditions ?? []).some(
        ({ type, message = '' }) => type === 'ReplicaFailure' && message.includes('is not created: '),
      );
      const isFine = !some || isGoing(pool) || isTold || this.#replicasOf(uid).length + held >= pool.spec.replicas;
      if (isFine) this.#missingSince.delete(uid);
      else if (!this.#missingSince.has(uid)) this.#missingSince.set(uid, this.#now);
      const since = this.#missingSince.get(uid);
      if (
        since !== undefined &&
        this.#now - Math.max(since, this.#meddled.get(uid) ?? 0, this.#changed.get(uid) ?? 0) > MADE_WITHIN_MS
      )
        this.#broken(
          'G11',
          `pool ${name} has ${this.#replicasOf(uid).length} of ${pool.spec.replicas} VMs for ${this.#now - since} ms, and none is made`,
        );
    }
  }

  #standbyOf(uid: string): Stored[] {
    return this.#world.vmsOf(uid).filter((vm) => !isRegular(vm) && !isSurge(vm));
  }

  /** VMs of the pool that are its replicas, and no others that it has beside them. */
  #replicasOf(uid: string): Stored[] {
    return this.#world.vmsOf(uid).filter(isRegular);
  }

  /** Milliseconds since the VM was last ready; 0 if it is ready. */
  #downMs(vm: Stored): number {
    const since = this.#vms.get(vm.metadata.uid)?.downSince;
    return since === null || since === undefined ? 0 : this.#now - since;
  }

  #isReady(name: string): boolean {
    return isReady(this.#world.vmi(name));
  }
}
