import type { KubeVirt } from '../objects/kubevirt.ts';

/** On the KubeVirt object: the machine type of the alias `q35`. Changing it simulates a hypervisor upgrade. */
const ALIAS_ANNOTATION = 'sim.drover.dev/q35';
const Q35 = 'pc-q35-rhel9.6.0';
/** Machine types that the simulated nodes support: the alias, its initial target, and newer and older types. */
export const NODE_MACHINE_TYPES = [
  'q35',
  'pc-q35-rhel9.8.0',
  'pc-q35-rhel9.6.0',
  'pc-q35-rhel9.4.0',
  'pc-q35-rhel9.2.0',
  'pc-q35-rhel8.6.0',
];

/** KubeVirt's defaults by architecture, if its configuration sets none. Unknown architectures get those of amd64. */
export const VM_DEFAULTS = {
  amd64: { machineType: 'q35', emulatedMachines: ['q35*', 'pc-q35*'] },
  arm64: { machineType: 'virt', emulatedMachines: ['virt*'] },
  s390x: { machineType: 's390-ccw-virtio', emulatedMachines: ['s390-ccw-virtio*'] },
} as const;
const isKnown = (architecture: string): architecture is keyof typeof VM_DEFAULTS =>
  Object.hasOwn(VM_DEFAULTS, architecture);

/** Returns the architecture that admission sets on a VM that names none. */
export const defaultArchitecture = (kubevirt: KubeVirt | undefined): string =>
  kubevirt?.spec?.configuration?.architectureConfiguration?.defaultArchitecture || 'amd64';

/** Returns the machine type that admission sets on a VM if the VM names none. */
export function defaultMachineType(
  kubevirt: KubeVirt | undefined,
  architecture = defaultArchitecture(kubevirt),
): string {
  const { machineType, architectureConfiguration } = kubevirt?.spec?.configuration ?? {};
  const known = isKnown(architecture) ? architecture : 'amd64';
  return machineType || architectureConfiguration?.[known]?.machineType || VM_DEFAULTS[known].machineType;
}

/** Returns the machine type that a VMI really has: an alias is resolved at boot. */
export function resolveMachineType(type: string, kubevirt: KubeVirt | undefined): string {
  return type === 'q35' ? (kubevirt?.metadata.annotations?.[ALIAS_ANNOTATION] ?? Q35) : type;
}
