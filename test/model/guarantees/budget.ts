import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineInstanceMigrations, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { activityNow, isActive, isByWorker, isDeletion, isGoing, isRemoved, runs, type Pool } from '../facts.ts';
import { KNOWN_AFTER_MS, STALE_MS } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { PoolCheck } from './check.ts';

/** A VM that drover took down, with the deleted VMI if there was one, or with the migration that may take it down. */
interface Down {
  pool: string;
  name: string;
  vmi: string | undefined;
  migration?: string;
}

/** Checks that what workers take down leaves each pool within its disruption budget (G9). */
export class BudgetGuarantees extends PoolCheck {
  /** VMs that drover took down and that are not back yet, by UID. */
  readonly #down = new Map<string, Down>();

  onWrite(write: Write, call: Call | null): void {
    if (isByWorker(call)) this.#writtenByWorker(write);
    this.#forgetThoseBack();
  }

  #writtenByWorker({ resource, before, after }: Write): void {
    if (resource === VirtualMachines && before !== undefined && isDeletion(before, after)) {
      if (activityNow() === 'removeVms') this.#takenDown(before, undefined);
    } else if (resource === VirtualMachineInstances && before !== undefined && isDeletion(before, after)) {
      const vm = this.world.vm(before.metadata.name);
      if (vm !== undefined) this.#takenDown(vm, before);
    } else if (resource === VirtualMachineInstanceMigrations && before === undefined) {
      const { metadata, spec } = after as Stored<Migration>;
      const [vm, vmi] = [this.world.vm(spec.vmiName!), this.world.vmi(spec.vmiName!)];
      if (vm !== undefined && vmi !== undefined) this.#takenDown(vm, vmi, metadata.name);
    }
  }

  /** Checks that taking a VM down on purpose leaves the pool within its disruption budget. */
  #takenDown(vm: Stored, vmi: Stored | undefined, migration?: string): void {
    const pool = this.record.poolOf(vm);
    if (pool === undefined || isGoing(pool) || !runs(vm) || !this.record.isRegular(vm)) return;
    const { name, uid } = vm.metadata;
    const known = this.record.vm(uid);
    // If it is down since now, this write may be what took it down.
    const wasDown = known?.downSince !== null && this.now - (known?.downSince ?? 0) > 0;
    const moved = migration === undefined ? {} : { migration };
    this.#down.set(uid, { pool: pool.metadata.uid, name, vmi: vmi?.metadata.uid, ...moved });
    // It already had its place in the budget when it was down, a moment ago.
    if (wasDown || (known !== undefined && known.readyAt > this.now - KNOWN_AFTER_MS)) return;
    this.check(pool, `${name} is taken down`);
  }

  /** Checks that no more VMs are down than may be after `what`, with one more for each extra VM that is available. */
  check(pool: Pool, what: string): void {
    const { uid } = pool.metadata;
    this.#forgetThoseBack();
    const names = new Set([...this.#down.values()].filter((down) => down.pool === uid).map((down) => down.name));
    const since = Math.min(this.record.readAt(uid) ?? Infinity, this.now - KNOWN_AFTER_MS);
    const most = Math.max(...this.record.limitsSince(pool, since).map((limit) => limit.most)) + this.#standIns(pool);
    for (const other of this.record.replicasOf(uid))
      if (isActive(other) && runs(other) && this.record.downMs(other) > 2 * KNOWN_AFTER_MS)
        names.add(other.metadata.name);
    // Users may just have taken an extra VM that stood in for others.
    const isExcused = (pool.spec.maxSurge ?? 0) !== 0 && this.record.meddledAt(uid) > this.now - STALE_MS;
    if (names.size > most && !isExcused)
      this.broken(
        'G9',
        `${what}, and with it ${[...names].toSorted().join(', ')} are down (${names.size}), of at most ${most}`,
      );
  }

  /** How many extra VMs are available, or were until a moment ago. */
  #standIns(pool: Pool): number {
    const minReadyMs = (pool.spec.rollout?.minReadySeconds ?? 0) * 1000;
    const isAvailableSurge = (vm: Stored): boolean => {
      const known = this.record.vm(vm.metadata.uid);
      if (known === undefined || !this.record.isSurge(vm) || !isActive(vm)) return false;
      return (
        this.record.downMs(vm) < KNOWN_AFTER_MS && known.readyAt > 0 && known.readyAt + minReadyMs <= this.now + 1_000
      );
    };
    return this.world.vmsOf(pool.metadata.uid).filter(isAvailableSurge).length;
  }

  #forgetThoseBack(): void {
    for (const [uid, { pool, name, vmi, migration }] of this.#down) {
      const vm = this.world.vm(name);
      const owner = vm === undefined ? undefined : controllerOf(vm)?.uid;
      const isBack =
        vm !== undefined &&
        this.record.isReady(name) &&
        (this.world.vmi(name)?.metadata.uid !== vmi || this.#hasMoved(migration)) &&
        (vmi !== undefined || vm.metadata.uid !== uid);
      const hasLeft =
        vm !== undefined &&
        (owner !== pool ||
          !runs(vm) ||
          isRemoved(vm) ||
          (vmi !== undefined && isGoing(vm)) ||
          (vmi !== undefined && vm.metadata.uid !== uid));
      const isOver = vm === undefined && vmi !== undefined;
      const live = this.record.poolWith(pool);
      const isUnwanted =
        live === undefined ||
        isGoing(live) ||
        (vm === undefined && this.record.replicasOf(pool).filter(isActive).length >= wantedReplicas(live));
      if (isBack || hasLeft || isOver || isUnwanted) this.#down.delete(uid);
    }
  }

  /** Reports whether this migration has ended. */
  #hasMoved(migration: string | undefined): boolean {
    if (migration === undefined) return false;
    const found = this.world.server
      .all<Migration>(VirtualMachineInstanceMigrations)
      .find(({ metadata }) => metadata.name === migration);
    return found === undefined || isOver(found);
  }
}
