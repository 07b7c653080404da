import { PROTECT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import {
  activityNow,
  isActive,
  isByWorker,
  isDeletion,
  isGoing,
  isNamed,
  isRemoved,
  isToBeDeleted,
  runs,
  type Pool,
} from '../facts.ts';
import type { PoolRecord } from '../pool-record.ts';
import { CALL_MS, KNOWN_AFTER_MS, STALE_MS, type Watched } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { BudgetGuarantees } from './budget.ts';
import { PoolCheck } from './check.ts';
import { isSetKind } from './sets.ts';

/** A scale-in planned some time ago knew of VMs that have been down for this many milliseconds. */
const LONG_DOWN_MS = 45_000;

/** Checks which VMs workers remove: by scale-in (G1, G2, G23), as unhealthy (G5), and none that is no pool's (G4). */
export class RemovedVmGuarantees extends PoolCheck {
  readonly #budget: BudgetGuarantees;

  constructor(world: Watched, off: readonly string[], record: PoolRecord, budget: BudgetGuarantees) {
    super(world, off, record);
    this.#budget = budget;
  }

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource !== VirtualMachines || before === undefined || !isByWorker(call)) return;
    if (isDeletion(before, after)) this.#deleted(before);
    else if (after !== undefined && isRemoved(after) && !isRemoved(before)) {
      if (activityNow() === 'removeUnhealthyVm') this.#healed(before);
      else this.#leaves(before, 'halted to leave');
    }
  }

  #deleted(vm: Stored): void {
    const { name } = vm.metadata;
    const owner = controllerOf(vm);
    if (isSetKind(owner?.kind)) return;
    if (owner?.kind !== 'VirtualMachinePool') return this.broken('G4', `${name} is deleted, and is no pool's`);
    const activity = activityNow();
    if (activity === 'removeUnhealthyVm') this.#healed(vm);
    // A batch replaces its VMs, which the budget allows or not.
    else if (activity !== 'removeVms') this.#leaves(vm, 'deleted');
  }

  /** Checks the removal of a VM by scale-in; removals together with the pool are always allowed. */
  #leaves(vm: Stored, how: string): void {
    const pool = this.record.poolOf(vm);
    if (pool === undefined || isGoing(pool) || isRemoved(vm)) return;
    const { name } = vm.metadata;
    const { uid } = pool.metadata;
    if (isToBeDeleted(pool, vm)) return;
    if (isNamed(pool, vm)) this.broken('G20', `${name} is ${how}, and users want it kept`);
    if ((vm.metadata.annotations?.[PROTECT_ANNOTATION] ?? 'false') !== 'false')
      this.broken('G1', `${name} is ${how}, and is protected from scale-in`);
    if (this.record.isSurge(vm))
      return this.record.isReady(name) ? this.#budget.check(pool, `the extra ${name} is ${how}`) : undefined;
    if (!this.record.isRegular(vm)) return this.#standbyLeaves(pool, vm, how);
    const active = this.record.replicasOf(uid).filter((other) => isActive(other) && !isNamed(pool, other)).length;
    const replicas = wantedReplicas(pool);
    // `active` no longer includes this VM.
    if (active < replicas) {
      const read = this.record.readAt(uid);
      const isExcused = read !== undefined && read > this.now - STALE_MS && this.record.meddledAt(uid) >= read;
      if (!isExcused)
        this.broken(
          'G1',
          `${name} is ${how}: ${active} stay, and ${replicas} are wanted${read === undefined ? '; nobody asked the API server' : ''}`,
        );
    }
    const policy = pool.spec.scaleInStrategy?.proactive?.selectionPolicy;
    if (policy?.orderedPolicies !== undefined || !this.record.isReady(name)) return;
    const at = this.now;
    this.world.time.in(KNOWN_AFTER_MS, () => {
      if (this.record.meddledAt(uid) > at) return;
      const worse = this.record
        .replicasOf(uid)
        .find((other) => isActive(other) && runs(other) && this.record.downMs(other) > LONG_DOWN_MS);
      if (worse !== undefined)
        this.broken(
          'G2',
          `${name} was ready and is ${how} by scale-in, and ${worse.metadata.name} stays, which is not ready for ${this.record.downMs(worse)} ms`,
        );
    });
  }

  #standbyLeaves(pool: Pool, { metadata: { name } }: Stored, how: string): void {
    const { uid } = pool.metadata;
    const staying = this.record.standbyOf(uid).filter((other) => isActive(other) && !isNamed(pool, other)).length;
    const since = (this.record.readAt(uid) ?? this.now) - CALL_MS;
    const wanted = Math.min(...this.record.limitsSince(pool, since).map(({ standby }) => standby));
    if (staying < wanted && this.record.meddledAt(uid) < this.now - STALE_MS)
      this.broken('G23', `${name} is ${how}: ${staying} standby VMs stay, and ${wanted} are wanted`);
  }

  #healed(vm: Stored): void {
    const { name, uid } = vm.metadata;
    const pool = this.record.poolOf(vm);
    if (this.record.isReady(name)) this.broken('G5', `${name} is deleted as sick, and is ready`);
    if (vm.metadata.annotations?.['drover.dev/do-not-disrupt'] !== undefined)
      this.broken('G5', `${name} is deleted as sick, and its owner asked not to`);
    if (pool !== undefined && pool.spec.autohealing?.preserveStorage !== false)
      this.world.say(`${name} is deleted as sick; its VMIs ran for ${this.record.vm(uid)!.longestRunMs} ms at most`);
  }
}
