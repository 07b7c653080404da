import { kubevirtView, type KubeVirt } from '../../../decisions/from-object/kubevirt.ts';
import { DRAIN_TAINT } from '../../../decisions/views/drained-node.ts';
import type { KubeVirtView } from '../../../decisions/views/kubevirt.ts';
import { plugsOf, strategyOf } from '../../../decisions/vm-update/vm-rollout-strategy.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';
import type { CacheChange } from './cache-change.ts';

const known = (kubevirt: KubeVirtView | undefined) => ({
  /** What it does when a running VM's template changes. */
  strategy: strategyOf(kubevirt),
  /** What it does to VMIs that run, whatever its strategy. */
  plugs: plugsOf(kubevirt),
  /** The key of the taint that tells it to drain a node. */
  drainTaint: kubevirt?.drainTaint ?? DRAIN_TAINT,
});

/** What the cluster's KubeVirt object says, such as its VM rollout strategy; of a cluster without one, the defaults. */
export class KubeVirtStrategy {
  /** The list that it is read from. */
  readonly list: ListWatch<KubeVirt, KubeVirtView>;
  #known = known(undefined);

  constructor(
    options: Omit<ListWatchOptions<KubeVirt, KubeVirtView>, 'view'>,
    onChange: (change: Extract<CacheChange, { kind: 'strategy' }>) => void,
  ) {
    this.list = new ListWatch<KubeVirt, KubeVirtView>({
      ...options,
      view: kubevirtView,
      onChange: () => {
        const before = this.#known;
        const [kubevirt] = this.list.values();
        this.#known = known(kubevirt);
        if (JSON.stringify(this.#known) === JSON.stringify(before)) return;
        onChange({ kind: 'strategy', before: before.strategy, after: this.#known.strategy });
      },
    });
  }

  get known(): ReturnType<typeof known> {
    return this.#known;
  }
}
