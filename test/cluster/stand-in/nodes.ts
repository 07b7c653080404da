import type { KubeObject } from '../../../api/objects.ts';
import { Nodes } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isAlreadyExists } from '../../../kubernetes/errors.ts';
import { NODE_MACHINE_TYPES } from '../../../simulator/vm/machine-type.ts';
import { machineTypeLabel } from '../../../simulator/vmi/scheduling.ts';

const BEAT_MS = 20_000;
const ROOM = { cpu: '10000', memory: '10000Gi', pods: '100000', 'devices.kubevirt.io/kvm': '100000' };

/** Creates nodes that take VMs, with the machine types of the simulator's, and keeps them alive. */
export async function playNodes(client: KubeClient, names: readonly string[]): Promise<void> {
  const beat = (): Promise<void[]> => Promise.all(names.map((name) => heartbeat(client, name)));
  for (const name of names) await create(client, name);
  await beat();
  setInterval(
    () => void beat().catch((error: Error) => console.error(`a heartbeat failed: ${error.message}`)),
    BEAT_MS,
  );
}

async function create(client: KubeClient, name: string): Promise<void> {
  const types = Object.fromEntries(NODE_MACHINE_TYPES.map((type) => [machineTypeLabel(type), 'true']));
  const labels = { 'kubevirt.io/schedulable': 'true', 'kubernetes.io/hostname': name, ...types };
  await client.create(Nodes, { metadata: { name, labels } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  // The API server gives each new node a taint, which Kubernetes' node controller, not run here, takes back.
  await client.patch<KubeObject>(Nodes, { name }, 'merge', { spec: { taints: null } });
}

async function heartbeat(client: KubeClient, name: string): Promise<void> {
  const now = new Date().toISOString();
  const metadata = { annotations: { 'kubevirt.io/heartbeat': now } };
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  const status = { conditions: [ready], capacity: ROOM, allocatable: ROOM };
  await client.patch(Nodes, { name }, 'merge', { metadata });
  await client.patch(Nodes, { name }, 'merge', { status }, { subresource: 'status' });
}
