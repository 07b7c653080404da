import { nodeView, type Node } from '../../decisions/views/from-object/node.ts';
import type { NodeView } from '../../decisions/views/node.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../kubernetes/list-watch.ts';

interface NodeCacheOptions extends Omit<ListWatchOptions<Node, NodeView>, 'view' | 'onChange'> {
  /** Called when a node has become ready or not ready, cordoned or not, or has come or gone. */
  onChange: (before: NodeView | undefined, after: NodeView | undefined) => void;
}

/** A cache of the nodes, and what they mean for the VMIs on them. */
export class NodeCache extends ListWatch<Node, NodeView> {
  constructor({ onChange, ...options }: NodeCacheOptions) {
    super({
      ...options,
      view: nodeView,
      // A new node has VMIs already if it was deleted before, or if their watch was faster.
      onChange: (_key, before, after) => {
        const isSame = before?.ready === after?.ready && before?.schedulable === after?.schedulable;
        if (!isSame) onChange(before, after);
      },
    });
  }

  /** Reports whether the node answers, and takes no new pods; false for null. */
  isCordoned(node: string | null): boolean {
    const view = node === null ? undefined : this.get(node);
    return view !== undefined && view.ready && !view.schedulable;
  }

  /** Reports whether the node is not ready or no longer exists; false for null. */
  isLost(node: string | null): boolean {
    return node !== null && this.get(node)?.ready !== true;
  }

  /** Fills in what is known of a VMI from its node alone. */
  withNode(vmi: VmiView): VmiView {
    if (this.isCordoned(vmi.podNode)) return { ...vmi, podNodeCordoned: true };
    return this.isLost(vmi.node) ? { ...vmi, nodeLost: true } : vmi;
  }
}
