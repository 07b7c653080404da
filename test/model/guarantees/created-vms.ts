import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { isByWorker, isDeletion, type Pool } from '../facts.ts';
import { KNOWN_AFTER_MS } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { PoolCheck } from './check.ts';

/** Checks that a worker makes no VM, and promotes none, that is one too many (G3, G23). */
export class CreatedVmGuarantees extends PoolCheck {
  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource !== VirtualMachines || after === undefined || !isByWorker(call)) return;
    if (before === undefined) this.#created(after);
    else if (!isDeletion(before, after) && !this.record.wasRegular && this.record.isRegular(after))
      this.#promoted(after);
  }

  #created(vm: Stored): void {
    const pool = this.record.poolOf(vm);
    if (pool === undefined) return;
    if (this.record.isSurge(vm)) return this.#madeExtra(vm, pool);
    if (!this.record.isRegular(vm)) return this.#standbyCreated(pool, vm);
    const count = this.record.replicasOf(pool.metadata.uid).length;
    const wanted = Math.max(...this.record.knownLimits(pool).map(({ replicas }) => replicas));
    if (count > wanted && !this.#comesBack(pool, vm))
      this.broken('G3', `${vm.metadata.name} is made, and the pool has ${count} VMs then and wants ${wanted}`);
  }

  /** Reports whether healing has removed this VM, and a scale-in would not have. */
  #comesBack(pool: Pool, { metadata: { name } }: Stored): boolean {
    const { scaleInStrategy } = pool.spec;
    const isLeft = scaleInStrategy !== undefined && scaleInStrategy.proactive?.windows !== undefined;
    const isOfOthers = scaleInStrategy !== undefined && scaleInStrategy.proactive === undefined;
    return (isLeft || isOfOthers) && this.record.wasHealed(pool, name);
  }

  #madeExtra({ metadata: { name } }: Stored, pool: Pool): void {
    const { uid } = pool.metadata;
    const count = this.world.vmsOf(uid).filter((one) => this.record.isSurge(one)).length;
    const most = Math.max(...this.record.knownLimits(pool).map(({ surge }) => surge));
    if (count > most) this.broken('G3', `${name} is made, and ${count} VMs are extra then, of at most ${most}`);
  }

  #standbyCreated(pool: Pool, vm: Stored): void {
    const { name } = vm.metadata;
    const count = this.record.standbyOf(pool.metadata.uid).length;
    const wanted = Math.max(...this.record.knownLimits(pool).map(({ standby }) => standby));
    if (count > wanted && !this.#comesBack(pool, vm))
      this.broken('G23', `${name} is made, and the pool has ${count} standby VMs then and wants ${wanted}`);
  }

  /** Checks that a standby VM becomes a replica only while one is missing. */
  #promoted(vm: Stored): void {
    const pool = this.record.poolOf(vm);
    if (pool === undefined) return;
    const { uid } = pool.metadata;
    const count = this.record.replicasOf(uid).length;
    const wanted = Math.max(...this.record.knownLimits(pool).map(({ replicas }) => replicas));
    if (count > wanted && this.record.meddledAt(uid) < this.now - KNOWN_AFTER_MS)
      this.broken('G23', `${vm.metadata.name} is promoted, and the pool has ${count} VMs then and wants ${wanted}`);
  }
}
