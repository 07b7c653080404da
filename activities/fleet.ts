import type { Seen } from '../decisions/versions.ts';
import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { VmView } from '../decisions/vm.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import type { KubeObject } from '../kubernetes/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../kubernetes/resources.ts';
import { vmView, type VirtualMachine } from './vm-view.ts';

/** How long a decision waits for the watch to catch up before it lists for itself. */
const CATCH_UP_MS = 2_000;

export interface FleetOptions {
  client: KubeClient;
  relistMs?: number;
  onError?: (resource: string, error: Error) => void;
  onMissed?: (resource: string, count: number) => void;
}

export type FleetChange =
  | { kind: 'pool'; before: StoredPool | undefined; after: StoredPool | undefined }
  | { kind: 'vm'; before: VmView | undefined; after: VmView | undefined };

/** One worker's picture of all pools and VMs of a cluster, which follows the API server. */
export class Fleet {
  readonly pools: ListWatch<KubeObject, StoredPool>;
  readonly vms: ListWatch<VirtualMachine, VmView>;
  readonly #byOwner = new Map<string, Map<string, VmView>>();
  readonly #listeners = new Set<(change: FleetChange) => void>();

  constructor(options: FleetOptions) {
    const { client, relistMs, onError, onMissed } = options;
    const common = (resource: string) => ({
      client,
      ...(relistMs === undefined ? {} : { relistMs }),
      onError: (error: Error) => onError?.(resource, error),
      onMissed: (count: number) => onMissed?.(resource, count),
    });
    this.pools = new ListWatch<KubeObject, StoredPool>({
      ...common('virtualmachinepools'),
      resource: VirtualMachinePools,
      view: withoutManagedFields,
      onChange: (_key, before, after) => this.#tell({ kind: 'pool', before, after }),
    });
    this.vms = new ListWatch<VirtualMachine, VmView>({
      ...common('virtualmachines'),
      resource: VirtualMachines,
      view: vmView,
      onChange: (_key, before, after) => {
        this.#index(before, after);
        this.#tell({ kind: 'vm', before, after });
      },
    });
  }

  /** Resolves once both first lists are in. */
  async start(): Promise<void> {
    await Promise.all([this.pools.start().ready(), this.vms.start().ready()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.pools.stop(), this.vms.stop()]);
  }

  /** The VMs that the pool of this UID owns. */
  ownedBy(uid: string): VmView[] {
    return [...(this.#byOwner.get(uid)?.values() ?? [])];
  }

  /** True where a VM of this name exists that the pool of this UID does not own. */
  isHeldByOther(namespace: string, name: string, uid: string): boolean {
    const vm = this.vms.get(`${namespace}/${name}`);
    return vm !== undefined && vm.owner?.uid !== uid;
  }

  /** Makes sure that what is read next is not older than `seen`, and says what it is not older than now. */
  async catchUp(seen: Seen): Promise<Seen> {
    const [pools, vms] = await Promise.all([reach(this.pools, seen.pools), reach(this.vms, seen.vms)]);
    return { pools, vms };
  }

  subscribe(listener: (change: FleetChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #index(before: VmView | undefined, after: VmView | undefined): void {
    if (before?.owner && before.owner.uid !== after?.owner?.uid) {
      const siblings = this.#byOwner.get(before.owner.uid);
      siblings?.delete(before.name);
      if (siblings?.size === 0) this.#byOwner.delete(before.owner.uid);
    }
    if (!after?.owner) return;
    const siblings = this.#byOwner.get(after.owner.uid) ?? new Map<string, VmView>();
    siblings.set(after.name, after);
    this.#byOwner.set(after.owner.uid, siblings);
  }

  #tell(change: FleetChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

async function reach(cache: Pick<ListWatch<KubeObject, unknown>, 'reached' | 'relist' | 'version'>, version: string | undefined): Promise<string> {
  if (version !== undefined && !(await cache.reached(BigInt(version), CATCH_UP_MS))) await cache.relist();
  return String(cache.version);
}

function withoutManagedFields(pool: KubeObject): StoredPool {
  const { managedFields: _, ...metadata } = pool.metadata;
  return { ...pool, metadata } as unknown as StoredPool;
}
