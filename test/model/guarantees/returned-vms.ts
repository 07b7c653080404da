import { MEMBER_OF_ANNOTATION, POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { activityNow } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import { PoolCheck } from './check.ts';

/**
 * Checks that a worker gives a VM of no owner back only to the pool that its label names, only if it is not one that
 * users have taken out of that pool, and only in a place that is free (G31).
 */
export class ReturnedVmGuarantees extends PoolCheck {
  onWrite({ resource, before, after }: Write): void {
    if (resource !== VirtualMachines || before === undefined || after === undefined) return;
    if (activityNow() !== 'adoptReturnedVms') return;
    const { name, labels = {} } = before.metadata;
    const pool = this.world.pool(labels[POOL_LABEL] ?? '');
    if (pool === undefined || controllerOf(after)?.uid !== pool.metadata.uid || controllerOf(before) !== undefined)
      return this.broken('G31', `${name} is given to ${controllerOf(after)?.name}, and is not to be`);
    const { uid } = pool.metadata;
    if (isTakenOut(before, uid)) this.broken('G31', `${name} was taken out of ${pool.metadata.name}, and is put back`);
    const count = this.record.replicasOf(uid).length;
    const limits = this.record.knownLimits(pool);
    const wanted = Math.max(...limits.map(({ replicas }) => replicas));
    const others = this.record.standbyOf(uid).length;
    const standby = Math.max(...limits.map((one) => one.standby));
    if (count > wanted && this.record.meddledAt(uid) < this.now - 60_000)
      this.broken('G31', `${name} is adopted, and the pool has ${count} VMs then and wants ${wanted}`);
    if (others > standby) this.broken('G31', `${name} is adopted, and the pool has ${others} standby VMs then`);
  }
}

/** Its record names this pool, and it was there before its record. */
function isTakenOut({ metadata }: Stored, uid: string): boolean {
  const record = JSON.parse(metadata.annotations?.[MEMBER_OF_ANNOTATION] ?? '{}') as { uid?: string; since?: string };
  return record.uid === uid && Date.parse(metadata.creationTimestamp) <= Date.parse(record.since ?? '');
}
