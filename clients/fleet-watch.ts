import type { KubeClient } from '../kubernetes/client.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import { controllerOf, type Stored } from '../kubernetes/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../kubernetes/resources.ts';
import { byName, type Pool, type Vm } from './fleet.ts';

export interface FleetWatchOptions {
  kube: KubeClient;
  /** All namespaces where there is none. */
  namespace: string | undefined;
  /** All pools where there are none. */
  names: string[];
  /** Told the UID of the pool that something happened to. */
  onChange: (poolUid: string) => void;
  onError: (error: Error) => void;
}

/** Pools and their VMs, as they are now, for as long as somebody looks. */
export class FleetWatch {
  readonly #options: FleetWatchOptions;
  readonly #pools: ListWatch<Stored<Pool>, Stored<Pool>>;
  readonly #vms: ListWatch<Stored<Vm>, Stored<Vm>>;

  constructor(options: FleetWatchOptions) {
    this.#options = options;
    const { kube: client, namespace, onChange, onError } = options;
    const common = { client, onError, ...(namespace === undefined ? {} : { namespace }) };
    this.#pools = new ListWatch<Stored<Pool>, Stored<Pool>>({
      ...common,
      resource: VirtualMachinePools,
      view: (pool) => pool,
      onChange: (_key, before, after) => onChange((after ?? before!).metadata.uid),
    });
    this.#vms = new ListWatch<Stored<Vm>, Stored<Vm>>({
      ...common,
      resource: VirtualMachines,
      view: slim,
      onChange: (_key, before, after) => {
        const owner = controllerOf(after ?? before!);
        if (owner !== undefined) onChange(owner.uid);
      },
    });
  }

  /** Resolves once everything that is there is known. */
  async start(): Promise<this> {
    await Promise.all([this.#pools.start().ready(), this.#vms.start().ready()]);
    return this;
  }

  pools(): Stored<Pool>[] {
    const { names } = this.#options;
    return [...this.#pools.values()].filter(({ metadata }) => names.length === 0 || names.includes(metadata.name)).sort(byName);
  }

  vms(): Stored<Vm>[] {
    return [...this.#vms.values()];
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pools.stop(), this.#vms.stop()]);
  }
}

/** A VM's spec is most of it, and shows nowhere here. */
const slim = ({ apiVersion, kind, metadata, status }: Stored<Vm>): Stored<Vm> =>
  ({ apiVersion, kind, metadata: { ...metadata, managedFields: [] }, status }) as unknown as Stored<Vm>;
