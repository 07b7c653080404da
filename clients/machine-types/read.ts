import { nodeView, type Node } from '../../activities/node-view.ts';
import { vmView, type VirtualMachine } from '../../activities/vm-view.ts';
import { vmiView, type VirtualMachineInstance } from '../../activities/vmi-view.ts';
import type { NodeView } from '../../decisions/node.ts';
import type { VmView } from '../../decisions/vm.ts';
import type { VmiView } from '../../decisions/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { Nodes, VirtualMachineInstances, VirtualMachines } from '../../kubernetes/resources.ts';
import { aboutKind } from '../known-kind.ts';

/** VMs of a namespace, or of all, in the order of their names; of each page only what is looked at is kept. */
export async function* readVmViews(kube: KubeClient, namespace: string | undefined): AsyncGenerator<VmView, void> {
  try {
    for await (const { items } of kube.pages<VirtualMachine>(VirtualMachines, { namespace })) yield* items.map(vmView);
  } catch (error) {
    throw aboutKind(VirtualMachines, error);
  }
}

/** Their guests. */
export async function* readVmiViews(kube: KubeClient, namespace: string | undefined): AsyncGenerator<VmiView, void> {
  try {
    for await (const { items } of kube.pages<VirtualMachineInstance>(VirtualMachineInstances, { namespace })) yield* items.map(vmiView);
  } catch (error) {
    throw aboutKind(VirtualMachineInstances, error);
  }
}

/** All nodes; null for a person who may not read them. */
export async function readNodeViews(kube: KubeClient): Promise<NodeView[] | null> {
  try {
    const { items } = await kube.list<Node>(Nodes);
    return items.map(nodeView);
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return null;
    throw error;
  }
}
