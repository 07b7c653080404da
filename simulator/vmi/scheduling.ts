import { isOn, Knob } from '../knobs.ts';
import type { InstanceSpec, Node } from '../types.ts';

export const SCHEDULABLE_LABEL = 'kubevirt.io/schedulable';
export const machineTypeLabel = (type: string): string => `machine-type.node.kubevirt.io/${type}`;

/**
 * True for a node that is shown not to answer. Kubernetes tells that of a node before it tells that what runs there is
 * not ready, and so does the simulator; a node whose condition nobody keeps is as its mark says.
 */
export function isLost({ metadata, status }: Node): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined ? isOn(metadata, Knob.lost) : ready.status !== 'True';
}

/** True where a guest of this spec and machine type may be put on the node. */
export function fits(node: Node, spec: InstanceSpec, machineType: string): boolean {
  const labels = node.metadata.labels ?? {};
  if (
    isLost(node) ||
    isOn(node.metadata, Knob.lost) ||
    node.spec?.unschedulable === true ||
    labels[SCHEDULABLE_LABEL] !== 'true'
  )
    return false;
  if (labels[machineTypeLabel(machineType)] !== 'true') return false;
  if (spec.architecture && labels['kubernetes.io/arch'] !== spec.architecture) return false;
  return Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
}

/** Of the nodes that fit, in the order of their names, the one after `last`, which was given a guest last. */
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
