import type { Stored } from '../../api/objects.ts';
import { ignoreAlreadyExists } from '../../kubernetes/errors.ts';
import { isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import { timestamp } from '../objects/conditions.ts';
import type { Node, NodeCondition } from '../objects/kubevirt.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { NODE_MACHINE_TYPES } from '../vm/machine-type.ts';
import { machineTypeLabel, SCHEDULABLE_LABEL } from '../vmi/scheduling.ts';

/** Creates the nodes that VMIs run on, and shows a node marked as lost the way Kubernetes shows an unreachable node. */
export class NodeController extends Controller {
  constructor(cluster: Cluster) {
    super(cluster, 'Node', 2);
    cluster.nodes.subscribe((name) => this.queue.add(name));
  }

  /** Creates missing nodes, up to `count`. */
  async create(count: number): Promise<void> {
    const { client, nodes } = this.cluster;
    for (let n = 1; n <= count; n++)
      await ignoreAlreadyExists(client.create<Node>(nodes.resource, newNode(`sim-node-${n}`, Date.now())));
  }

  protected async reconcile(name: string): Promise<undefined> {
    const { client, nodes } = this.cluster;
    const node = nodes.get(name);
    if (node === undefined || node.metadata.labels?.[SIMULATED_LABEL] !== 'true') return;
    const wanted = withReadiness(node, Date.now());
    if (wanted !== node) nodes.remember(await client.update<Node>(nodes.resource, wanted, { subresource: 'status' }));
    else if (node.spec?.taints?.some(isNotReady) === true && !isOn(node.metadata, SimulatorAnnotation.lost)) {
      const spec = { ...node.spec, taints: node.spec.taints.filter((taint) => !isNotReady(taint)) };
      nodes.remember(await client.update<Node>(nodes.resource, { ...node, spec }));
    }
  }
}

/** The API server taints each new node, and Kubernetes' controller of nodes takes that off one that is ready. */
const isNotReady = ({ key }: { key?: string }): boolean => key === 'node.kubernetes.io/not-ready';

const SIMULATED_LABEL = 'sim.drover.dev/node';

export const newNode = (name: string, now: number): Node => ({
  metadata: {
    name,
    labels: {
      'kubernetes.io/hostname': name,
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      [SIMULATED_LABEL]: 'true',
      [SCHEDULABLE_LABEL]: 'true',
      ...Object.fromEntries(NODE_MACHINE_TYPES.map((type) => [machineTypeLabel(type), 'true'])),
    },
  },
  status: {
    capacity: { cpu: '1024', memory: '4Ti', pods: '5000' },
    allocatable: { cpu: '1024', memory: '4Ti', pods: '5000' },
    conditions: [readiness(false, now)],
  },
});

/** Returns the node with the Ready condition that matches its `lost` annotation; the same object if unchanged. */
export function withReadiness(node: Stored<Node>, now: number): Stored<Node> {
  const wanted = readiness(isOn(node.metadata, SimulatorAnnotation.lost), now);
  const conditions = node.status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Ready');
  if (before?.status === wanted.status) return node;
  return {
    ...node,
    status: { ...node.status, conditions: [...conditions.filter((condition) => condition !== before), wanted] },
  };
}

function readiness(lost: boolean, now: number): NodeCondition {
  const times = { lastHeartbeatTime: timestamp(now), lastTransitionTime: timestamp(now) };
  return lost
    ? {
        type: 'Ready',
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        ...times,
      }
    : { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status', ...times };
}
