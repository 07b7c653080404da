import type { KubeVirt } from './types.ts';

/** On the KubeVirt object: what the alias `q35` stands for, so that a person can play an upgrade of the hypervisor. */
export const ALIAS_ANNOTATION = 'sim.drover.dev/q35';
const Q35 = 'pc-q35-rhel9.6.0';
/** What the simulated nodes can run: the alias, and types before and after the one that it stands for at first. */
export const NODE_MACHINE_TYPES = ['q35', 'pc-q35-rhel9.8.0', 'pc-q35-rhel9.6.0', 'pc-q35-rhel9.4.0', 'pc-q35-rhel9.2.0', 'pc-q35-rhel8.6.0'];

/** What the admission of a VM fills in where it names no machine type. */
export function defaultMachineType(kubevirt: KubeVirt | undefined): string {
  const configuration = kubevirt?.spec?.configuration;
  return configuration?.machineType || configuration?.architectureConfiguration?.amd64?.machineType || 'q35';
}

/** The type that a guest really has: an alias is resolved when it boots. */
export function resolveMachineType(type: string, kubevirt: KubeVirt | undefined): string {
  return type === 'q35' ? (kubevirt?.metadata.annotations?.[ALIAS_ANNOTATION] ?? Q35) : type;
}
