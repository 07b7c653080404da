import { cancellationSignal, log } from '@temporalio/activity';
import { controllerOf } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import { whyNotMake } from '../../decisions/scaling/departure.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { ensureDisksAreFree } from '../disks/free.ts';
import { recordEvent } from '../lib/events.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { liveVm } from '../lib/live-vm.ts';
import { sharedCall } from '../lib/shared-call.ts';
import type { Revisions } from '../rollout/revisions.ts';
import { knownPool, livePool } from './live-pool.ts';
import { tryEach } from './try-each.ts';
import { nothingDone, type Done, type HowToCreate, type PoolKey } from './types.ts';

/** Calls that may hit a quota which has just filled up. */
const INITIAL_CONCURRENCY = 16;

export interface CreationOptions {
  client: KubeClient;
  cache: ClusterCache;
  revisions: Revisions;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

/** Creates the activity by which VMs come into a pool. */
export function createCreationActivities({ client, cache, revisions, concurrency }: CreationOptions) {
  return {
    /**
     * Creates the pool's VMs with these numbers from the template of `revision`. A VM that already exists and is the
     * pool's counts as done. Starts slowly, so that only one call hits a full quota, unless the pool's last creations
     * went well (`skipSlowStart`). VMs with numbers in `halted` are created halted, whatever the template says. Each VM
     * is created only while the pool still wants it.
     */
    createVms: (
      key: PoolKey,
      numbers: number[],
      revision: string,
      seen: ResourceVersions,
      how: HowToCreate,
    ): Promise<Done> =>
      withHeartbeat(async () => {
        await cache.catchUp({ pools: seen.pools });
        const items = numbers.map((number) => ({ number, name: vmName(key.name, number) }));
        const goal = await goalOf(key, revision);
        if (goal === undefined) return { ...nothingDone, notWanted: items.map(({ name }) => name) };
        const creation = new Creation(client, cache, key, { ...goal, how });
        const atFirst = how.skipSlowStart === true ? INITIAL_CONCURRENCY : 1;
        const { count, refused } = await tryEach(items, (item) => creation.create(item), {
          most: concurrency,
          atFirst,
        });
        await report(goal.pool, items, { count, refused, created: creation.created });
        const { taken, notWanted } = creation;
        if (taken.length > 0) log.info("names are held by VMs that are not the pool's, and are skipped", { taken });
        if (notWanted.length > 0) log.info('VMs are not wanted any more, and are not made', { notWanted });
        return { count: count - notWanted.length, taken, notWanted, refused, seen: creation.seen };
      }),
  };

  /** Returns the pool and its template of this revision; undefined if nothing is to be made from it any more. */
  async function goalOf(
    key: PoolKey,
    revision: string,
  ): Promise<{ pool: StoredPool; template: PoolTemplate } | undefined> {
    const pool = await knownPool(client, cache, key);
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return undefined;
    // Kept before the first VM is created from it, so that a later update knows what that VM was created from.
    if (revisionOf(poolTemplate(pool.spec)) === revision && !(await revisions.keep(pool))) return undefined;
    const template = await revisions.find(key, revision);
    return template && { pool, template };
  }

  async function report(
    pool: StoredPool,
    items: readonly Item[],
    { count, refused, created }: Pick<Done, 'count' | 'refused'> & { created: string[] },
  ): Promise<void> {
    const action = 'ScaleOut';
    if (created.length > 0) {
      const note = `Created ${formatNames(created)}`;
      await recordEvent(client, pool, { type: 'Normal', reason: 'SuccessfulCreate', action, note });
    }
    if (refused !== null) {
      const names = formatNames(items.map(({ name }) => name));
      const note = `${items.length - count} of ${names} not created: ${refused.message}`;
      await recordEvent(client, pool, { type: 'Warning', reason: 'FailedCreate', action, note });
    }
  }
}

interface Item {
  number: number;
  name: string;
}

interface Goal {
  pool: StoredPool;
  template: PoolTemplate;
  how: HowToCreate;
}

/** Creates VMs of a pool one by one, each only while the pool, read again, still wants it. */
class Creation {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #key: PoolKey;
  readonly #goal: Goal;
  readonly #poolNow: () => Promise<StoredPool | undefined>;
  /** Names of VMs that are being created, or were. */
  readonly #made = new Set<string>();
  readonly created: string[] = [];
  /** Names that other VMs have. */
  readonly taken: string[] = [];
  readonly notWanted: string[] = [];
  #vms: string | undefined;
  #pools: string | undefined;

  constructor(client: KubeClient, cache: ClusterCache, key: PoolKey, goal: Goal) {
    this.#client = client;
    this.#cache = cache;
    this.#key = key;
    this.#goal = goal;
    this.#poolNow = sharedCall(() => livePool(client, key, cancellationSignal()));
  }

  /** What a cache must have reached to show the new VMs. */
  get seen(): ResourceVersions {
    return { pools: this.#pools, vms: this.#vms };
  }

  async create({ number, name }: Item): Promise<void> {
    const pool = await this.#poolNow();
    this.#pools = later(this.#pools, pool?.metadata.resourceVersion);
    // No pause between the two: VMs that are created at once count each other.
    if (!this.#isWanted(name, pool)) return void this.notWanted.push(name);
    this.#made.add(name);
    try {
      await this.#write(number);
    } catch (error) {
      this.#made.delete(name);
      if (!isAlreadyExists(error)) throw error;
      const other = await liveVm(this.#client, { namespace: this.#key.namespace, name });
      this.#vms = later(this.#vms, other?.metadata.resourceVersion);
      if (other !== undefined && controllerOf(other)?.uid !== this.#key.uid) this.taken.push(name);
    }
  }

  #isWanted(name: string, pool: StoredPool | undefined): boolean {
    const { generation } = this.#goal.how;
    const vms = generation === undefined ? this.#cache.ownedBy(this.#key.uid) : [];
    return whyNotMake({ generation, pool, vms, name, made: this.#made }) === null;
  }

  async #write(number: number): Promise<void> {
    const { pool, template, how } = this.#goal;
    const vm = vmFromTemplate(pool, template, number);
    await ensureDisksAreFree(this.#client, this.#cache, pool, vm, number);
    if (how.halted?.includes(number)) vm.spec = { ...vm.spec, running: undefined, runStrategy: 'Halted' };
    const stored = await this.#client.create(VirtualMachines, vm, { signal: cancellationSignal() });
    this.#vms = later(this.#vms, stored.metadata.resourceVersion);
    this.created.push(vm.metadata.name);
  }
}
