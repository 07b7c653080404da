import type { Stored } from '../../api/objects.ts';
import { ServiceAccounts } from '../../api/resources.ts';
import { ignoreAlreadyExists, ignoreNotFound } from '../../kubernetes/errors.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import type { Pod, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isDeleting, isFinal } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { end } from '../vmi/evict.ts';
import { LAUNCHER, launcherOf } from '../vmi/launcher.ts';

/** As many as the API server takes within the time that it waits for an admission. */
const AT_ONCE = 32;

/** The pod that is created for a VMI while it runs on a node. */
interface Launcher {
  uid: string;
  node: string;
  pod: Promise<Stored<Pod>>;
}

/**
 * Gives the VMIs of nodes that are cordoned a pod each, which can be evicted: for all other VMIs, a pod would only
 * cost. A VMI ends with its pod.
 */
export class PodController extends Controller {
  /** By the key of the VMI. If a pod was created and is gone, it was evicted. */
  readonly #launchers = new Map<string, Launcher>();
  /** The nodes whose cordon was admitted, and which the watch does not show as cordoned yet. */
  readonly #cordoning = new Set<string>();

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'pod of', concurrency);
    cluster.vmis.subscribe((key, before, after) => {
      const nodes = [before, after].map((vmi) => vmi?.status?.nodeName);
      if (nodes.some((node) => this.#isCordoned(node))) this.queue.add(key);
    });
    cluster.nodes.subscribe((name, before, after) => {
      if (after?.spec?.unschedulable === true) this.#cordoning.delete(name);
      if (before?.spec?.unschedulable !== after?.spec?.unschedulable)
        for (const key of this.#on(name)) this.queue.add(key);
    });
    cluster.pods.subscribe((_key, before, after) => {
      const vmi = before?.metadata.annotations?.[LAUNCHER.vmi];
      if (vmi !== undefined && after === undefined) this.queue.add(`${before!.metadata.namespace}/${vmi}`);
    });
  }

  /** Resolves when the VMIs of a node that is being cordoned have their pods. */
  async cordoned(node: string): Promise<void> {
    this.#cordoning.add(node);
    const queue = [...this.#on(node)];
    const next = async (): Promise<void> => {
      for (let key = queue.shift(); key !== undefined; key = queue.shift()) await this.#podOf(key);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }

  #isCordoned(node: string | undefined): boolean {
    if (node === undefined) return false;
    return this.#cordoning.has(node) || this.cluster.nodes.get(node)?.spec?.unschedulable === true;
  }

  *#on(node: string): Generator<string> {
    for (const { metadata, status } of this.cluster.vmis.values())
      if (status?.nodeName === node) yield `${metadata.namespace}/${metadata.name}`;
  }

  protected async reconcile(key: string): Promise<undefined> {
    const { pods, vmis } = this.cluster;
    const vmi = vmis.get(key);
    const pod = await this.#podOf(key);
    if (vmi !== undefined && pod !== undefined && pods.get(namespacedName(pod)) === undefined)
      await end(this.cluster, vmi);
  }

  /**
   * Resolves to the pod of a VMI that runs on a cordoned node once it is created, and removes an earlier one. Admission
   * and the queue may both be here for one VMI: the first of them creates the pod.
   */
  async #podOf(key: string): Promise<Stored<Pod> | undefined> {
    const vmi = this.cluster.vmis.get(key);
    const runs = vmi !== undefined && !isFinal(vmi) && !isDeleting(vmi);
    const node = runs ? vmi.status?.nodeName : undefined;
    const earlier = this.#launchers.get(key);
    if (runs && node !== undefined && this.#isCordoned(node)) {
      const { uid } = vmi.metadata;
      if (earlier?.uid === uid && earlier.node === node) return earlier.pod;
      const launcher = { uid, node, pod: this.#create(vmi, node) };
      this.#launchers.set(key, launcher);
      launcher.pod.catch(() => this.#launchers.get(key) === launcher && this.#launchers.delete(key));
    } else this.#launchers.delete(key);
    if (earlier !== undefined) await this.#remove(await earlier.pod);
    return this.#launchers.get(key)?.pod;
  }

  async #create(vmi: Stored<VirtualMachineInstance>, node: string): Promise<Stored<Pod>> {
    const { client, pods } = this.cluster;
    const namespace = vmi.metadata.namespace!;
    await ignoreAlreadyExists(client.create(ServiceAccounts, { metadata: { namespace, name: 'default' } }));
    return pods.remember(await client.create<Pod>(pods.resource, launcherOf(vmi, node)));
  }

  async #remove({ metadata: { namespace, name } }: Stored<Pod>): Promise<void> {
    const { client, pods } = this.cluster;
    await ignoreNotFound(client.delete(pods.resource, { namespace, name }, { gracePeriodSeconds: 0 }));
  }
}
