import type { NodeView } from './node.ts';
import type { VmiView } from './vmi.ts';

/** Kubernetes' own taint of a node that is cordoned. */
export const CORDON_TAINT = 'node.kubernetes.io/unschedulable';

/** KubeVirt's default for `spec.configuration.migrations.nodeDrainTaintKey`. */
export const DRAIN_TAINT = 'kubevirt.io/drain';

/** Taints of node autoscalers, which evict the pods of a node without a cordon before they remove the node. */
const AUTOSCALER_TAINTS: readonly string[] = [
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  // Karpenter before 1.0.
  'karpenter.sh/disruption',
];

/** Reports whether the node is drained: cordoned, or tainted as KubeVirt or a node autoscaler does for a drain. */
export const isDrained = ({ taints = [] }: Pick<NodeView, 'taints'>, drainTaint: string): boolean =>
  taints.some((key) => key === CORDON_TAINT || key === drainTaint || AUTOSCALER_TAINTS.includes(key));

/** Reports whether the VMI migrates, or is to, because its node is drained: it is the cheaper one to lose. */
export const isMoving = ({ migration, nodeDrained, podNodeCordoned }: VmiView): boolean =>
  migration !== null || nodeDrained || podNodeCordoned;

/**
 * Fills in what is known of a VMI from its nodes alone. `nodeOf`: of all nodes, so that a node without a view has been
 * deleted.
 */
export function withNode(vmi: VmiView, nodeOf: (name: string) => NodeView | undefined, drainTaint: string): VmiView {
  const podNode = vmi.podNode === null ? undefined : nodeOf(vmi.podNode);
  if (podNode?.ready === true && !podNode.schedulable) return { ...vmi, podNodeCordoned: true };
  if (vmi.node === null) return vmi;
  const node = nodeOf(vmi.node);
  const nodeLost = node?.ready !== true;
  const nodeDrained = node !== undefined && isDrained(node, drainTaint);
  if (vmi.ready && !nodeLost && !nodeDrained) return vmi;
  return { ...vmi, nodeLost, nodeDrained, nodeSince: node?.readySince ?? null };
}
