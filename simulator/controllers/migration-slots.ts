import type { KubeVirt } from '../objects/kubevirt.ts';

const PER_CLUSTER = 5;
const FROM_NODE = 2;

export const mostAtOnce = (kubevirt: KubeVirt | undefined): number =>
  kubevirt?.spec?.configuration?.migrations?.parallelMigrationsPerCluster ?? PER_CLUSTER;

const mostFromNode = (kubevirt: KubeVirt | undefined): number =>
  kubevirt?.spec?.configuration?.migrations?.parallelOutboundMigrationsPerNode ?? FROM_NODE;

/** Which migrations run, and from which node: KubeVirt leaves the others pending. */
export class MigrationSlots {
  readonly #nodes = new Map<string, string | undefined>();

  /** Reports whether the migration has a place, by its UID. */
  acquire(uid: string, node: string | undefined, kubevirt: KubeVirt | undefined): boolean {
    if (this.#nodes.has(uid)) return true;
    const fromNode = [...this.#nodes.values()].filter((other) => other === node).length;
    if (this.#nodes.size >= mostAtOnce(kubevirt) || fromNode >= mostFromNode(kubevirt)) return false;
    this.#nodes.set(uid, node);
    return true;
  }

  /** Counts a migration that runs already. */
  add(uid: string, node: string | undefined): void {
    if (!this.#nodes.has(uid)) this.#nodes.set(uid, node);
  }

  /** Reports whether it had a place. */
  free(uid: string): boolean {
    return this.#nodes.delete(uid);
  }
}
