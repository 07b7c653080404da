import { VirtualMachinePools } from '../../../api/resources.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import { isRestoring } from '../../../decisions/membership/restore.ts';
import { isGoing, lacksDisks, type Pool } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import type { World } from '../world/world.ts';
import { PoolCheck } from './check.ts';

/** Milliseconds within which a missing VM is recreated, if a worker can. */
const MADE_WITHIN_MS = 120_000;

/** Checks that pools get the VMs that they miss (G11), and have nothing of earlier pools of their names (G14). */
export class PoolGuarantees extends PoolCheck<World> {
  readonly #missingSince = new Map<string, number>();

  onWrite({ resource, after }: Write): void {
    if (resource === VirtualMachinePools && after !== undefined) this.#checkStatus(after as Pool);
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
      this.broken(
        'G14',
        `pool ${metadata.name} was made at ${metadata.creationTimestamp}, and its status tells of ${old}`,
      );
  }

  /** Runs `live`, and checks regularly until it ends that missing VMs are recreated in time. */
  async during(live: () => Promise<void>): Promise<void> {
    const clock = setInterval(() => this.#checkMissing(), 5_000);
    await live();
    clearInterval(clock);
  }

  /** Checks that missing VMs are recreated in time; time in which no worker can do it does not count. */
  #checkMissing(): void {
    const some = this.world.workers.some(({ process }) => process.state === 'running' && !process.isCutOff);
    for (const object of this.world.server.all(VirtualMachinePools)) {
      const pool = object as Pool;
      const { uid, name } = pool.metadata;
      const held = (pool.status?.healing?.cycles ?? []).length;
      const isFine =
        !some ||
        isGoing(pool) ||
        isRestoring(pool as never) ||
        lacksDisks(pool) ||
        this.record.replicasOf(uid).length + held >= wantedReplicas(pool);
      if (isFine) this.#missingSince.delete(uid);
      else if (!this.#missingSince.has(uid)) this.#missingSince.set(uid, this.now);
      const since = this.#missingSince.get(uid);
      if (
        since !== undefined &&
        this.now - Math.max(since, this.record.meddledAt(uid), this.record.changedAt(uid)) > MADE_WITHIN_MS
      )
        this.broken(
          'G11',
          `pool ${name} has ${this.record.replicasOf(uid).length} of ${pool.spec.replicas} VMs for ${this.now - since} ms, and none is made`,
        );
    }
  }
}
