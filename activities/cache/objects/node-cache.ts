import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { withDrain } from '../../../decisions/views/drained-node.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';

interface NodeCacheOptions extends Omit<ListWatchOptions<Node, NodeView>, 'view' | 'onChange'> {
  /**
   * Called when a node has become ready or not ready, was cordoned, uncordoned, tainted or untainted, or was added or
   * removed.
   */
  onChange: (before: NodeView | undefined, after: NodeView | undefined) => void;
  /** Returns the key of the taint that tells KubeVirt to drain a node. */
  drainTaint: () => string;
}

/** A cache of the nodes, and what they mean for the VMIs on them. */
export class NodeCache extends ListWatch<Node, NodeView> {
  readonly #drainTaint: () => string;

  constructor({ onChange, drainTaint, ...options }: NodeCacheOptions) {
    super({
      ...options,
      view: nodeView,
      // A new node has VMIs already if it was deleted before, or if their watch was faster.
      onChange: (_key, before, after) => {
        const isSame = before?.ready === after?.ready && String(before?.taints) === String(after?.taints);
        if (!isSame) onChange(before, after);
      },
    });
    this.#drainTaint = drainTaint;
  }

  /** Reports whether the node is not ready or no longer exists; false for null, and as long as no nodes are known. */
  isLost(node: string | null): boolean {
    return node !== null && this.synced && this.get(node)?.ready !== true;
  }

  /** Fills in what is known of a VMI from its node alone. */
  withNode(vmi: VmiView): VmiView {
    const known = withDrain(vmi, (node) => this.get(node), this.#drainTaint());
    return this.isLost(vmi.node) ? { ...known, nodeLost: true } : known;
  }
}
