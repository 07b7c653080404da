import type { Cluster } from './cluster.ts';
import { hasFinalizer, removeFinalizer } from './finalizers.ts';
import { isDeleting, isFinal } from './instance.ts';
import { claimsOf } from './volumes.ts';
import { WorkQueue } from './work-queue.ts';

const PROTECTION = 'kubernetes.io/pvc-protection';

/** Plays Kubernetes' PVC protection: the API server's admission holds every claim back, and one that no guest uses may go. */
export class ClaimController {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster, concurrency: number) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue({
      concurrency,
      work: (key) => this.#reconcile(key),
      onError: (key, error) => cluster.log.warn(`PersistentVolumeClaim ${key}: ${error.message}`),
    });
    cluster.claims.subscribe((key) => this.#queue.add(key));
    cluster.instances.subscribe((_key, before, after) => {
      if (before === undefined || (after !== undefined && !isFinal(after))) return;
      for (const claim of claimsOf(before.spec)) this.#queue.add(`${before.metadata.namespace}/${claim}`);
    });
  }

  start(): void {
    this.#queue.start();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(key: string): Promise<number | undefined> {
    const { claims, instances } = this.#cluster;
    const claim = claims.get(key);
    if (claim === undefined || !isDeleting(claim) || !hasFinalizer(claim, PROTECTION)) return undefined;
    const { namespace, name } = claim.metadata;
    for (const instance of instances.values()) {
      if (instance.metadata.namespace === namespace && !isFinal(instance) && claimsOf(instance.spec).includes(name))
        return undefined;
    }
    await removeFinalizer(this.#cluster, claims, claim, PROTECTION);
    return undefined;
  }
}
