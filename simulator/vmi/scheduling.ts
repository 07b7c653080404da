import { isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import type { VmiSpec, Node } from '../objects/kubevirt.ts';

export const SCHEDULABLE_LABEL = 'kubevirt.io/schedulable';
export const machineTypeLabel = (type: string): string => `machine-type.node.kubevirt.io/${type}`;

/**
 * Reports whether the node shows that it doesn't answer. Like Kubernetes, the simulator shows that before it shows that
 * the VMIs there aren't ready. If the node has no Ready condition, its `lost` annotation counts.
 */
export function isLost({ metadata, status }: Node): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined ? isOn(metadata, SimulatorAnnotation.lost) : ready.status !== 'True';
}

/** Reports whether a VMI of this spec and machine type may be scheduled to the node. */
export function fits(node: Node, spec: VmiSpec, machineType: string): boolean {
  const labels = node.metadata.labels ?? {};
  if (
    isLost(node) ||
    isOn(node.metadata, SimulatorAnnotation.lost) ||
    node.spec?.unschedulable === true ||
    labels[SCHEDULABLE_LABEL] !== 'true'
  )
    return false;
  if (labels[machineTypeLabel(machineType)] !== 'true') return false;
  if (spec.architecture && labels['kubernetes.io/arch'] !== spec.architecture) return false;
  return Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
}

/** Returns the fitting node after `last`, the node used last, in the order of names; undefined if none fits. */
export function nextNode(
  nodes: Iterable<Node>,
  last: string | undefined,
  fitting: (node: Node) => boolean,
): string | undefined {
  const names = [...nodes]
    .filter(fitting)
    .map((node) => node.metadata.name)
    .sort();
  return names.find((name) => last === undefined || name > last) ?? names[0];
}
