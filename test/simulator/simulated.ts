import type { ObjectMeta, Stored } from '../../api/objects.ts';
import type {
  VmiSpec,
  VmiStatus,
  Node,
  Phase,
  VirtualMachine,
  VirtualMachineInstance,
  VirtualMachineStatus,
} from '../../simulator/objects/kubevirt.ts';
import type { Surroundings } from '../../simulator/vmi/next-move.ts';

/** Objects as the API server would hand them to the simulator. */

export const NOW = Date.parse('2026-05-04T10:00:00Z');
export const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString().replace('.000', '');

const stored = (name: string, uid: string, metadata: Partial<ObjectMeta>): Stored['metadata'] => ({
  name,
  namespace: 'default',
  uid,
  resourceVersion: '10',
  creationTimestamp: at(-60),
  ...metadata,
});

export const vmiSpec = (spec: Partial<VmiSpec> = {}): VmiSpec => ({
  domain: {
    devices: {},
    machine: { type: 'q35' },
    cpu: { sockets: 1 },
    memory: { guest: '2Gi' },
    firmware: { uuid: 'f-1' },
  },
  ...spec,
});

export const aVm = (
  spec: Partial<VirtualMachine['spec']> = { runStrategy: 'Always' },
  status?: VirtualMachineStatus,
  metadata: Partial<ObjectMeta> = {},
): Stored<VirtualMachine> => ({
  metadata: stored('web-1', 'vm-uid', { generation: 3, ...metadata }),
  spec: { template: { metadata: {}, spec: vmiSpec() }, ...spec },
  ...(status === undefined ? {} : { status }),
});

export const aVmi = (
  phase: Phase | undefined,
  status: VmiStatus = {},
  metadata: Partial<ObjectMeta> = {},
  spec: Partial<VmiSpec> = {},
): Stored<VirtualMachineInstance> => ({
  metadata: stored('web-1', 'vmi-uid', metadata),
  spec: vmiSpec(spec),
  status: { ...(phase === undefined ? {} : { phase }), ...status },
});

/** Returns the surroundings of a VMI. */
export const around = (some: Partial<Surroundings> = {}): Surroundings => ({
  now: NOW,
  since: NOW,
  missingClaim: undefined,
  lacksSource: false,
  node: 'sim-node-1',
  nodeLost: false,
  nodeGone: false,
  failing: false,
  hasVm: true,
  machineType: 'pc-q35-rhel9.6.0',
  migratable: true,
  ...some,
});

export const passed = (...phases: Phase[]): VmiStatus => ({
  phaseTransitionTimestamps: phases.map((phase) => ({ phase, phaseTransitionTimestamp: at(-30) })),
});

export const condition = (type: string, status: 'True' | 'False', reason?: string) => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
  lastProbeTime: at(-30),
  lastTransitionTime: at(-30),
});

export const node = (
  name: string,
  labels: Record<string, string> = {},
  metadata: Partial<ObjectMeta> = {},
): Stored<Node> => ({
  metadata: {
    ...stored(name, name, {}),
    labels: { 'kubevirt.io/schedulable': 'true', 'machine-type.node.kubevirt.io/q35': 'true', ...labels },
    ...metadata,
  },
});
