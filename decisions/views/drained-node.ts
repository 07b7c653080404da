import { asObject, field, isObject, listOf, parsedObject } from '../lib/json.ts';
import { nodeFits } from './node-fits.ts';
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
 * Fills in what is known of a VMI from its nodes alone. `nodes`: all nodes, so that a node without a view has been
 * deleted.
 */
export function withNode(vmi: VmiView, nodes: Nodes, drainTaint: string): VmiView {
  const nodeOf = (name: string): NodeView | undefined => nodes.get(name);
  const podNode = vmi.podNode === null ? undefined : nodeOf(vmi.podNode);
  if (podNode?.ready === true && !podNode.schedulable) return { ...vmi, podNodeCordoned: true };
  if (vmi.node === null) return vmi;
  const node = nodeOf(vmi.node);
  const nodeLost = node?.ready !== true;
  const nodeDrained = node !== undefined && isDrained(node, drainTaint);
  if (vmi.ready && !nodeLost && !nodeDrained) return vmi;
  const whyNoOtherNode = nodeDrained ? whyNoneBeside(vmi, nodes.values(), drainTaint) : null;
  return { ...vmi, nodeLost, nodeDrained, nodeSince: node?.readySince ?? null, whyNoOtherNode };
}

interface Nodes {
  get: (name: string) => NodeView | undefined;
  values: () => Iterable<NodeView>;
}

/** KubeVirt's label of nodes that take VMIs: its pods select it. */
const TAKES_VMIS = 'kubevirt.io/schedulable';

const labelsOf = ({ labels = {} }: NodeView): Readonly<Record<string, string>> => labels;

/** Returns why Kubernetes would start the VMI on no node beside its own; null if there is room for doubt. */
function whyNoneBeside(
  { node: own, placement: text }: VmiView,
  nodes: Iterable<NodeView>,
  drainTaint: string,
): string | null {
  const placement = parsedObject(text);
  const others = [...nodes].filter(
    (one) => one.name !== own && one.schedulable && labelsOf(one)[TAKES_VMIS] === 'true' && !isDrained(one, drainTaint),
  );
  if (others.length === 0) return 'no other node takes VMs';
  const tolerated = others.filter(({ taints = [] }) => taints.every((key) => tolerates(placement, key)));
  if (tolerated.length === 0) return 'it does not tolerate the taints of any other node';
  if (tolerated.some((one) => nodeFits(placement, labelsOf(one)))) return null;
  const selector = field(placement, 'nodeSelector');
  const missing = Object.entries(isObject(selector) ? selector : {}).filter(
    ([key, value]) => !tolerated.some((one) => labelsOf(one)[key] === value),
  );
  return missing.length === 0
    ? 'no other node fits its node selector and affinity'
    : `no other node has ${missing.map(([key, value]) => `${key}=${String(value)}`).join(', ')}`;
}

/** The values of taints are not known: whoever tolerates one of them may tolerate this one. */
const tolerates = (placement: unknown, taint: string): boolean =>
  listOf(field(placement, 'tolerations')).some((one) => {
    const { key = '', operator = 'Equal', effect = '' } = asObject(one);
    const isOfEffect = effect === '' || effect === 'NoSchedule';
    return isOfEffect && (key === taint || (key === '' && operator === 'Exists'));
  });
