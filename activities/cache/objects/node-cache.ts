import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { countNodes, type NodeCounts } from '../../../decisions/health/node-outage.ts';
import { withNode } from '../../../decisions/views/drained-node.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';

interface NodeCacheOptions extends Omit<ListWatchOptions<Node, NodeView>, 'view' | 'onChange'> {
  /**
   * Called when a node has become ready or not ready, was cordoned, uncordoned, tainted or untainted, has got other
   * labels, or was added or removed.
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
        if (whatCounts(before) !== whatCounts(after)) onChange(before, after);
      },
    });
    this.#drainTaint = drainTaint;
  }

  /** Fills in what is known of a VMI from its nodes alone; nothing, as long as no nodes are known. */
  withNode(vmi: VmiView): VmiView {
    return this.synced ? withNode(vmi, this, this.#drainTaint()) : vmi;
  }

  /** How many of the nodes that KubeVirt uses do not answer. */
  count(): NodeCounts {
    return countNodes(this.values());
  }
}

/** What plans and budgets go by: a heartbeat changes nothing of it. */
const whatCounts = (node: NodeView | undefined): string =>
  node === undefined ? '' : JSON.stringify([node.ready, node.taints, node.labels]);
