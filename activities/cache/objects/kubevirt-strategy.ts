import type { VmRolloutStrategy } from '../../../api/pool/pool.ts';
import { DRAIN_TAINT } from '../../../decisions/views/drained-node.ts';
import { kubevirtView, type KubeVirt } from '../../../decisions/views/from-object/kubevirt.ts';
import { PLUGS_ALL, type KubeVirtPlugs } from '../../../decisions/vm-update/disruption.ts';
import { plugsOf, strategyOf, type KubeVirtView } from '../../../decisions/vm-update/vm-rollout-strategy.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';

/** What the cluster's KubeVirt object says, such as its VM rollout strategy; of a cluster without one, the defaults. */
export class KubeVirtStrategy {
  readonly #kubevirts: ListWatch<KubeVirt, KubeVirtView>;
  readonly #onChange: (before: VmRolloutStrategy, after: VmRolloutStrategy) => void;
  #current: VmRolloutStrategy = strategyOf(undefined);
  #plugs: KubeVirtPlugs = PLUGS_ALL;
  #drainTaint = DRAIN_TAINT;

  constructor(
    options: Omit<ListWatchOptions<KubeVirt, KubeVirtView>, 'view'>,
    onChange: (before: VmRolloutStrategy, after: VmRolloutStrategy) => void,
  ) {
    this.#onChange = onChange;
    this.#kubevirts = new ListWatch<KubeVirt, KubeVirtView>({
      ...options,
      view: kubevirtView,
      onChange: () => this.#read(),
    });
  }

  /** The list that it is read from. */
  get list(): ListWatch<KubeVirt, KubeVirtView> {
    return this.#kubevirts;
  }

  get current(): VmRolloutStrategy {
    return this.#current;
  }

  /** What it does to VMIs that run, whatever its strategy. */
  get plugs(): KubeVirtPlugs {
    return this.#plugs;
  }

  /** The key of the taint that tells KubeVirt to drain a node. */
  get drainTaint(): string {
    return this.#drainTaint;
  }

  #read(): void {
    const before = this.#current;
    const taint = this.#drainTaint;
    const [kubevirt] = this.#kubevirts.values();
    const plugged = this.#plugs;
    this.#current = strategyOf(kubevirt);
    this.#plugs = plugsOf(kubevirt);
    this.#drainTaint = kubevirt?.drainTaint ?? DRAIN_TAINT;
    const isOther =
      taint !== this.#drainTaint ||
      plugged.migrates !== this.#plugs.migrates ||
      plugged.volumes !== this.#plugs.volumes;
    if (this.#current !== before || isOther) this.#onChange(before, this.#current);
  }
}
