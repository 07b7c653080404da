import type { Stored } from '../../api/objects.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import type { Migration, VirtualMachineInstance } from '../objects/kubevirt.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { evictionOf, marked } from '../vmi/eviction.ts';
import { inFlight, newMigration } from '../vmi/new-migration.ts';

/** As `kubectl drain` tries again. */
const AGAIN_MS = 5_000;

/**
 * Evicts VMIs that are to be, and those of nodes that are marked as drained, again and again, as `kubectl drain` does
 * with their pods.
 */
export class EvictionController extends Controller {
  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'eviction of', concurrency);
    cluster.vmis.subscribe((key, _before, after) => {
      if (after !== undefined && this.#isDrained(after)) this.queue.add(key);
    });
    cluster.nodes.subscribe((_name, _before, after) => {
      if (after === undefined || !isOn(after.metadata, SimulatorAnnotation.drain)) return;
      for (const vmi of cluster.vmis.values())
        if (this.#isDrained(vmi)) this.queue.add(`${vmi.metadata.namespace}/${vmi.metadata.name}`);
    });
  }

  #isDrained({ metadata, status }: VirtualMachineInstance): boolean {
    const name = status?.nodeName;
    if (name === undefined) return false;
    if (metadata.annotations?.[SimulatorAnnotation.evictFrom] === name) return true;
    const node = this.cluster.nodes.get(name);
    return node !== undefined && isOn(node.metadata, SimulatorAnnotation.drain);
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const vmi = this.cluster.vmis.get(key);
    if (vmi === undefined || !this.#isDrained(vmi)) return undefined;
    switch (evictionOf(vmi, this.cluster.kubevirt)) {
      case 'nothing':
        return undefined;
      case 'refuse':
        return AGAIN_MS;
      case 'end':
        await this.#end(vmi);
        return undefined;
      case 'mark':
        await this.#mark(vmi);
        return undefined;
      case 'migrate':
        await this.#mark(vmi);
        await this.#migrate(vmi);
        return undefined;
    }
  }

  async #end({ metadata }: Stored<VirtualMachineInstance>): Promise<void> {
    const { client, vmis } = this.cluster;
    await ignoreStale(
      client.delete(vmis.resource, metadata as { namespace: string; name: string }, { uid: metadata.uid }),
    );
  }

  async #mark(vmi: Stored<VirtualMachineInstance>): Promise<void> {
    const { client, vmis } = this.cluster;
    vmis.remember(await client.update<VirtualMachineInstance>(vmis.resource, marked(vmi)));
  }

  /** As KubeVirt does by itself if the eviction strategy is to migrate. */
  async #migrate({ metadata: { namespace, name } }: Stored<VirtualMachineInstance>): Promise<void> {
    const { client, migrations } = this.cluster;
    if ((await inFlight(client, migrations, namespace!, name)) !== undefined) return;
    const migration = newMigration({ generateName: 'kubevirt-evacuation-', namespace }, { vmiName: name });
    migrations.remember(await client.create<Migration>(migrations.resource, migration));
  }
}
