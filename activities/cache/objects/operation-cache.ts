import { withoutManagedFields } from '../../../api/objects.ts';
import { ClusterVirtualMachineOperations, VirtualMachineOperations, type Resource } from '../../../api/resources.ts';
import { isVersion } from '../../../decisions/lib/resource-versions.ts';
import { operationName, type OperationRef } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { CacheChange } from './cache-change.ts';
import type { CommonOptions } from './owner-caches.ts';

/** What users have asked to be done to VMs, in namespaces and cluster-wide: whole but for managed fields. */
export class OperationCache {
  readonly #namespaced: ListWatch<StoredOperation, StoredOperation>;
  readonly #clusterWide: ListWatch<StoredOperation, StoredOperation>;
  readonly #knowsNamespaces: () => boolean;

  /** `knowsNamespaces`: whether it is known which there are. Without that, nothing is done cluster-wide. */
  constructor(
    common: (resource: Resource) => CommonOptions,
    onChange: (change: Extract<CacheChange, { kind: 'operation' }>) => void,
    knowsNamespaces: () => boolean,
  ) {
    this.#knowsNamespaces = knowsNamespaces;
    const list = (resource: Resource) =>
      new ListWatch<StoredOperation, StoredOperation>({
        ...common(resource),
        view: withoutManagedFields,
        onChange: (_key, before, after) => onChange({ kind: 'operation', before, after }),
      });
    this.#namespaced = list(VirtualMachineOperations);
    this.#clusterWide = list(ClusterVirtualMachineOperations);
  }

  /** The lists that it is made from, by their kinds. */
  get lists() {
    return [
      [VirtualMachineOperations, this.#namespaced],
      [ClusterVirtualMachineOperations, this.#clusterWide],
    ] as const;
  }

  /** Returns the operation; undefined if this worker knows none of that UID. */
  get(ref: OperationRef): StoredOperation | undefined {
    if (ref.namespace === undefined && !this.#knowsNamespaces()) return undefined;
    const found = this.#listOf(ref).get(operationName(ref));
    return found?.metadata.uid === ref.uid ? found : undefined;
  }

  *values(): Generator<StoredOperation> {
    yield* this.#namespaced.values();
    if (this.#knowsNamespaces()) yield* this.#clusterWide.values();
  }

  /** Reports whether it is as far as what was read: before that, it knows less. */
  hasReached({ metadata }: StoredOperation): boolean {
    const { resourceVersion } = metadata;
    return !isVersion(resourceVersion) || this.#listOf(metadata).version >= BigInt(resourceVersion);
  }

  /** Differs whenever what is known of them differs. */
  get version(): string {
    return `${this.#namespaced.version} ${this.#clusterWide.version}`;
  }

  /** As `ListWatch` has it. */
  async relist(): Promise<void> {
    await Promise.all([this.#namespaced.relist(), this.#clusterWide.relist()]);
  }

  #listOf({ namespace }: Pick<OperationRef, 'namespace'>): ListWatch<StoredOperation, StoredOperation> {
    return namespace === undefined ? this.#clusterWide : this.#namespaced;
  }
}
