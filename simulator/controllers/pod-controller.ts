import { ServiceAccounts } from '../../api/resources.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kubernetes/errors.ts';
import type { Pod } from '../objects/kubevirt.ts';
import { isDeleting, isFinal } from '../objects/vmi.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { end } from '../vmi/evict.ts';
import { LAUNCHER, launcherOf } from '../vmi/launcher.ts';

/** As many as the API server takes within the time that it waits for an admission. */
const AT_ONCE = 32;

/**
 * Gives the VMIs of nodes that are cordoned a pod each, which can be evicted: for all other VMIs, a pod would only
 * cost. A VMI ends with its pod.
 */
export class PodController extends Controller {
  /** By the key of the VMI: the pod that was made for it. If that is gone, it was evicted. */
  readonly #made = new Map<string, { pod: { namespace: string; name: string }; uid: string; node: string }>();

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'pod of', concurrency);
    cluster.vmis.subscribe((key, before, after) => {
      const nodes = [before, after].map((vmi) => vmi?.status?.nodeName);
      if (nodes.some((node) => this.#isCordoned(node))) this.queue.add(key);
    });
    cluster.nodes.subscribe((name, before, after) => {
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
    const left = [...this.#on(node)];
    const next = async (): Promise<void> => {
      for (let key = left.shift(); key !== undefined; key = left.shift()) await this.#create(key, node);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }

  #isCordoned(node: string | undefined): boolean {
    return node !== undefined && this.cluster.nodes.get(node)?.spec?.unschedulable === true;
  }

  *#on(node: string): Generator<string> {
    for (const { metadata, status } of this.cluster.vmis.values())
      if (status?.nodeName === node) yield `${metadata.namespace}/${metadata.name}`;
  }

  protected async reconcile(key: string): Promise<undefined> {
    const { client, pods, vmis } = this.cluster;
    const vmi = vmis.get(key);
    const node = vmi === undefined || isFinal(vmi) || isDeleting(vmi) ? undefined : vmi.status?.nodeName;
    const wanted = this.#isCordoned(node) ? node : undefined;
    const made = this.#made.get(key);
    const isWanted = made !== undefined && made.uid === vmi?.metadata.uid && made.node === wanted;
    if (made !== undefined && !isWanted) {
      this.#made.delete(key);
      await ignoreNotFound(client.delete(pods.resource, made.pod, { gracePeriodSeconds: 0 }));
    }
    if (wanted === undefined) return;
    if (!isWanted) return this.#create(key, wanted);
    if (pods.get(`${made.pod.namespace}/${made.pod.name}`) !== undefined) return;
    this.#made.delete(key);
    await end(this.cluster, vmi);
  }

  async #create(key: string, node: string): Promise<undefined> {
    const { client, pods, vmis } = this.cluster;
    const vmi = vmis.get(key);
    if (vmi === undefined || isFinal(vmi) || isDeleting(vmi) || this.#made.has(key)) return;
    const launcher = launcherOf(vmi, node);
    const { namespace, name } = launcher.metadata as { namespace: string; name: string };
    this.#made.set(key, { pod: { namespace, name }, uid: vmi.metadata.uid, node });
    try {
      await client.create(ServiceAccounts, { metadata: { namespace, name: 'default' } }).catch(ifThere);
      const created = await client.create<Pod>(pods.resource, launcher).catch(ifThere);
      if (created !== undefined) pods.remember(created);
    } catch (error) {
      this.#made.delete(key);
      throw error;
    }
  }
}

function ifThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
}
