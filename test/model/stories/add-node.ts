import { Nodes } from '../../../api/resources.ts';
import type { Node } from '../../../simulator/objects/kubevirt.ts';
import type { World } from '../world/world.ts';

/** Adds a node to which VMs can move off both others. */
export function addNode(world: World): void {
  const { metadata, ...node } = world.server.find<Node>(Nodes, { name: 'sim-node-1' })!;
  const name = 'sim-node-3';
  const labels = { ...metadata.labels, 'kubernetes.io/hostname': name };
  world.server.create(Nodes, { ...node, metadata: { name, labels } });
}
