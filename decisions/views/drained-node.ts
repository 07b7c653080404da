import type { NodeView } from './node.ts';
import type { VmiView } from './vmi.ts';

/** Kubernetes' own taint of a node that is cordoned. */
export const CORDON_TAINT = 'node.kubernetes.io/unschedulable';

/** KubeVirt's default for `spec.configuration.migrations.nodeDrainTaintKey`. */
export const DRAIN_TAINT = 'kubevirt.io/drain';

/** Taints of node autoscalers, which evict the pods of a node without a cordon before they remove the node. */
const AUTOSCALER_TAINTS: readonly string[] = ['ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted'];

/** Reports whether the node is drained: cordoned, or tainted as KubeVirt or a node autoscaler does for a drain. */
export const isDrained = ({ taints = [] }: Pick<NodeView, 'taints'>, drainTaint: string): boolean =>
  taints.some((key) => key === CORDON_TAINT || key === drainTaint || AUTOSCALER_TAINTS.includes(key));

/** Reports whether the VMI migrates, or is to, because its node is drained: it is the cheaper one to lose. */
export const isMoving = ({ migration, nodeDrained, podNodeCordoned }: VmiView): boolean =>
  migration !== null || nodeDrained || podNodeCordoned;

/** Fills in whether the nodes of a VMI are cordoned or drained. */
export function withDrain(vmi: VmiView, nodeOf: (name: string) => NodeView | undefined, drainTaint: string): VmiView {
  const podNode = vmi.podNode === null ? undefined : nodeOf(vmi.podNode);
  if (podNode?.ready === true && !podNode.schedulable) return { ...vmi, podNodeCordoned: true };
  const node = vmi.node === null ? undefined : nodeOf(vmi.node);
  return node !== undefined && isDrained(node, drainTaint) ? { ...vmi, nodeDrained: true } : vmi;
}
