import { VirtualMachinePools } from '../../../api/resources.ts';
import { isInPortion } from '../../../decisions/shards/portion.ts';
import { portionOfQueue, queueOfObject } from '../../../workflows/lib/messages.ts';
import { runNow, isByWorker } from '../facts.ts';
import { Check } from '../guarantees/check.ts';
import type { Call } from '../world/model-client.ts';
import { CLUSTER } from '../world/names.ts';
import type { Onlooker } from '../world/onlooker.ts';
import { processNow } from '../world/virtual-time.ts';
import type { Seen } from '../world/worker.ts';

/**
 * Checks that workers plan and write only in namespaces that they take, and take no owner for gone that is there (G51).
 */
export class ShardGuarantees extends Check implements Onlooker {
  /** How often each owner was planned, by worker and by the owner's namespace. */
  readonly plans = new Map<string, number>();

  onCall({ process, verb, key, ...call }: Call): void {
    if (!isByWorker({ process, verb, key, ...call }) || verb === 'get' || verb === 'list') return;
    const namespace = key.namespace ?? /\/namespaces\/([^/]+)\//.exec(key.name ?? '')?.[1];
    if (namespace !== undefined && !this.#takes(process.name, namespace))
      this.broken('G51', `${process.name} would ${verb} ${key.name} of ${namespace}, which it does not take`);
  }

  onPlan(planned: Seen): void {
    const { name } = processNow();
    const [, , namespace = '', owner = ''] = runNow()!.split('/');
    this.plans.set(`${name} ${namespace}`, (this.plans.get(`${name} ${namespace}`) ?? 0) + 1);
    if (!this.#takes(name, namespace))
      this.broken('G51', `${name} plans ${namespace}/${owner}, which it does not take`);
    if (planned.gone && this.world.server.find(VirtualMachinePools, { namespace, name: owner }) !== undefined)
      this.broken('G51', `${name} takes ${namespace}/${owner} for gone`);
  }

  #takes(name: string, namespace: string): boolean {
    const { queues } = this.world.workers.find(({ process }) => process.name === name)!;
    return [...queues].some((queue) => {
      const { shards, shard } = portionOfQueue(CLUSTER, queue)!;
      return shard === undefined || isInPortion({ shards, shard }, namespace);
    });
  }

  /** Checks that each pool was planned, and by workers alone that poll the task queue of its shard. */
  expectPlansOfOwn(shards: number): void {
    const planned = [...this.plans.keys()].map((key) => key.split(' ') as [string, string]);
    for (const [name, namespace] of planned) {
      const { queues } = this.world.workers.find(({ process }) => process.name === name)!;
      if (!queues.has(queueOfObject(CLUSTER, namespace, shards)))
        this.broken('G51', `${name} plans ${namespace}, whose task queue it does not poll`);
    }
    const namespaces = new Set(planned.map(([, namespace]) => namespace));
    if (namespaces.size < this.world.server.all(VirtualMachinePools).length)
      this.broken('G51', 'a pool is not planned');
  }

  /** Whether each pool has its workflow, on the task queue of its shard, and nothing runs on any other. */
  isInPlace(shards: number): boolean {
    const runs = [...this.world.temporal.runs.values()].filter(({ isOpen }) => isOpen);
    const pools = this.world.server.all(VirtualMachinePools);
    const queues = new Set(pools.map(({ metadata }) => queueOfObject(CLUSTER, metadata.namespace, shards)));
    queues.add(queueOfObject(CLUSTER, undefined, shards));
    return (
      pools.every(({ metadata: { namespace, name } }) => {
        const run = this.world.temporal.runs.get(`pool/${CLUSTER}/${namespace}/${name}`);
        return run?.isOpen === true && run.queue === queueOfObject(CLUSTER, namespace, shards);
      }) && runs.every(({ queue }) => queues.has(queue))
    );
  }
}
