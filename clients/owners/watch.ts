import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { aboutKind } from '../cli/known-kind.ts';
import type { Pool } from '../pools/objects.ts';
import { byName, type Vm } from './members.ts';

export interface FleetWatchOptions {
  kube: KubeClient;
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  /** Empty for all pools. */
  names: string[];
  /** Called with the UID of the pool that something happened to. */
  onChange: (poolUid: string) => void;
  onError: (error: Error) => void;
}

/** Watches pools and their VMs until it is stopped. */
export class FleetWatch {
  readonly #options: FleetWatchOptions;
  readonly #failed = Promise.withResolvers<never>();
  #started = false;
  readonly #pools: ListWatch<Stored<Pool>, Stored<Pool>>;
  readonly #vms: ListWatch<Stored<Vm>, Stored<Vm>>;

  constructor(options: FleetWatchOptions) {
    this.#options = options;
    const { kube: client, namespace, onChange } = options;
    const scope = { client, ...(namespace === undefined ? {} : { namespace }) };
    this.#pools = new ListWatch<Stored<Pool>, Stored<Pool>>({
      ...scope,
      resource: VirtualMachinePools,
      view: (pool) => pool,
      onChange: (_key, before, after) => onChange((after ?? before!).metadata.uid),
      onError: (error) => this.#fail(VirtualMachinePools, error),
    });
    this.#vms = new ListWatch<Stored<Vm>, Stored<Vm>>({
      ...scope,
      resource: VirtualMachines,
      view: slim,
      onChange: (_key, before, after) => {
        const owner = controllerOf(after ?? before!);
        if (owner !== undefined) onChange(owner.uid);
      },
      onError: (error) => this.#fail(VirtualMachines, error),
    });
  }

  /**
   * Resolves once all existing objects are known. Throws if they can't be read. After that, broken watches are
   * restarted.
   */
  async start(): Promise<this> {
    try {
      await Promise.race([Promise.all([this.#pools.start().ready(), this.#vms.start().ready()]), this.#failed.promise]);
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#started = true;
    return this;
  }

  pools(): Stored<Pool>[] {
    const { names } = this.#options;
    return [...this.#pools.values()]
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name))
      .sort(byName);
  }

  vms(): Stored<Vm>[] {
    return [...this.#vms.values()];
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pools.stop(), this.#vms.stop()]);
  }

  #fail(resource: Resource, error: Error): void {
    if (this.#started) this.#options.onError(error);
    else this.#failed.reject(aboutKind(resource, error));
  }
}

/** Drops a VM's spec, which is most of it and isn't shown here. */
const slim = ({ apiVersion, kind, metadata, status }: Stored<Vm>): Stored<Vm> =>
  ({ apiVersion, kind, metadata: { ...metadata, managedFields: [] }, status }) as unknown as Stored<Vm>;
