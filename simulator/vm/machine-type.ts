import type { KubeVirt } from '../types.ts';

/** On the KubeVirt object: what the alias `q35` stands for, so that a person can play an upgrade of the hypervisor. */
export const ALIAS_ANNOTATION = 'sim.drover.dev/q35';
const Q35 = 'pc-q35-rhel9.6.0';
/** What the simulated nodes can run: the alias, and types before and after the one that it stands for at first. */
export const NODE_MACHINE_TYPES = [
  'q35',
  'pc-q35-rhel9.8.0',
  'pc-q35-rhel9.6.0',
  'pc-q35-rhel9.4.0',
  'pc-q35-rhel9.2.0',
  'pc-q35-rhel8.6.0',
];

/**
 * KubeVirt's own choice where its configuration makes none, by architecture; the first stands for those that are not
 * here.
 */
export const MACHINE_DEFAULTS = {
  amd64: { machineType: 'q35', emulatedMachines: ['q35*', 'pc-q35*'] },
  arm64: { machineType: 'virt', emulatedMachines: ['virt*'] },
  s390x: { machineType: 's390-ccw-virtio', emulatedMachines: ['s390-ccw-virtio*'] },
} as const;
const isKnown = (architecture: string): architecture is keyof typeof MACHINE_DEFAULTS =>
  Object.hasOwn(MACHINE_DEFAULTS, architecture);

/** What the admission of a VM fills in where it names no architecture. */
export const defaultArchitecture = (kubevirt: KubeVirt | undefined): string =>
  kubevirt?.spec?.configuration?.architectureConfiguration?.defaultArchitecture || 'amd64';

/** What the admission of a VM fills in where neither it nor its preference names a machine type. */
export function defaultMachineType(
  kubevirt: KubeVirt | undefined,
  architecture = defaultArchitecture(kubevirt),
): string {
  const { machineType, architectureConfiguration } = kubevirt?.spec?.configuration ?? {};
  const known = isKnown(architecture) ? architecture : 'amd64';
  return machineType || architectureConfiguration?.[known]?.machineType || MACHINE_DEFAULTS[known].machineType;
}

/** The type that a guest really has: an alias is resolved when it boots. */
export function resolveMachineType(type: string, kubevirt: KubeVirt | undefined): string {
  return type === 'q35' ? (kubevirt?.metadata.annotations?.[ALIAS_ANNOTATION] ?? Q35) : type;
}
