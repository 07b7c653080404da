import { withoutManagedFields, type KubeObject, type StoredMeta } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  VirtualMachineDisruptionBudgets,
  VirtualMachineOperations,
  type Resource,
} from '../../../api/resources.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { isVersion } from '../../../decisions/lib/resource-versions.ts';
import { operationName, type OperationRef } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { CacheChange } from './cache-change.ts';
import type { CommonOptions } from './owner-caches.ts';

type Common = (resource: Resource) => CommonOptions;
type Notify = (change: CacheChange) => void;

interface ScopedOptions<Stored> {
  namespaced: Resource;
  clusterWide: Resource;
  onChange: (before: Stored | undefined, after: Stored | undefined) => void;
  /** Whether it is known which namespaces there are. Without that, no cluster-wide object is known. */
  knowsNamespaces: () => boolean;
}

/** Objects of a kind with a cluster-wide twin, of both: whole but for managed fields. */
export class ScopedCache<Stored extends KubeObject & { metadata: StoredMeta }> {
  readonly #namespaced: ListWatch<Stored, Stored>;
  readonly #clusterWide: ListWatch<Stored, Stored>;
  readonly #options: ScopedOptions<Stored>;

  constructor(common: Common, options: ScopedOptions<Stored>) {
    this.#options = options;
    const list = (resource: Resource) =>
      new ListWatch<Stored, Stored>({
        ...common(resource),
        view: withoutManagedFields,
        onChange: (_key, before, after) => options.onChange(before, after),
      });
    this.#namespaced = list(options.namespaced);
    this.#clusterWide = list(options.clusterWide);
  }

  /** The lists that it is made from, by their kinds. */
  get lists() {
    const { namespaced, clusterWide } = this.#options;
    return [
      [namespaced, this.#namespaced],
      [clusterWide, this.#clusterWide],
    ] as const;
  }

  /** Returns the object; undefined if this worker knows none of that UID. */
  get(ref: OperationRef): Stored | undefined {
    if (ref.namespace === undefined && !this.#options.knowsNamespaces()) return undefined;
    const found = this.#listOf(ref).get(operationName(ref));
    return found?.metadata.uid === ref.uid ? found : undefined;
  }

  *values(): Generator<Stored> {
    yield* this.#namespaced.values();
    if (this.#options.knowsNamespaces()) yield* this.#clusterWide.values();
  }

  /** Reports whether it is as far as what was read: before that, it knows less. */
  hasReached({ metadata }: Stored): boolean {
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

  #listOf({ namespace }: Pick<OperationRef, 'namespace'>): ListWatch<Stored, Stored> {
    return namespace === undefined ? this.#clusterWide : this.#namespaced;
  }
}

/** What users have asked to be done to VMs. */
export const operationCache = (common: Common, notify: Notify, knowsNamespaces: () => boolean) =>
  new ScopedCache<StoredOperation>(common, {
    namespaced: VirtualMachineOperations,
    clusterWide: ClusterVirtualMachineOperations,
    onChange: (before, after) => notify({ kind: 'operation', before, after }),
    knowsNamespaces,
  });

/** A cluster-wide budget holds even if labels of namespaces are unknown. */
export const budgetCache = (common: Common, notify: Notify) =>
  new ScopedCache<StoredBudget>(common, {
    namespaced: VirtualMachineDisruptionBudgets,
    clusterWide: ClusterVirtualMachineDisruptionBudgets,
    onChange: (before, after) => notify({ kind: 'budget', before, after }),
    knowsNamespaces: () => true,
  });
