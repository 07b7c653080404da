import { isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import type { VirtualMachineInstance } from '../objects/kubevirt.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { evict } from '../vmi/evict.ts';
import { evictionOf } from '../vmi/eviction.ts';

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
    const eviction = evictionOf(vmi, this.cluster.kubevirt);
    await evict(this.cluster, vmi, eviction);
    return eviction === 'refuse' ? AGAIN_MS : undefined;
  }
}
