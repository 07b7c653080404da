import type { Domain, VmiSpec, KubeVirt, Quantity } from '../objects/kubevirt.ts';
import { quantityToNumber, binaryQuantity } from '../objects/quantity.ts';

const MAX_VCPUS = 512;
const LEAST_MEMORY = 2 ** 30;

export const isLiveUpdate = (kubevirt: KubeVirt | undefined): boolean =>
  (kubevirt?.spec?.configuration?.vmRolloutStrategy ?? 'LiveUpdate') === 'LiveUpdate';

/**
 * Adds what KubeVirt's admission sets on a VMI that starts now: CPU topology and memory if unset and, under LiveUpdate,
 * the maximum to which both may grow while the VMI runs.
 */
export function withHotplugCapacity(spec: VmiSpec, kubevirt: KubeVirt | undefined): VmiSpec {
  const domain = withSize(spec.domain);
  return { ...spec, domain: isLiveUpdate(kubevirt) ? withMost(domain) : domain };
}

function withSize(domain: Domain): Domain {
  const { cpu, memory, resources: { requests = {}, limits = {} } = {} } = domain;
  const hasTopology = cpu?.sockets || cpu?.cores || cpu?.threads;
  const sockets = Math.ceil(quantityToNumber(limits['cpu'] ?? requests['cpu'] ?? 1));
  const guest = memory?.guest ?? requests['memory'] ?? limits['memory'] ?? memory?.hugepages?.pageSize;
  return {
    ...domain,
    ...(hasTopology ? {} : { cpu: { ...cpu, sockets, cores: 1, threads: 1 } }),
    ...(guest === undefined ? {} : { memory: { ...memory, guest } }),
  };
}

function withMost(domain: Domain): Domain {
  const { cpu, memory } = domain;
  const maxGuest = mostGuest(domain);
  return {
    ...domain,
    cpu: { ...cpu, maxSockets: cpu?.maxSockets || mostSockets(cpu) },
    ...(maxGuest === undefined ? {} : { memory: { ...memory, maxGuest } }),
  };
}

const RATIO = 4;

function mostSockets(cpu: Domain['cpu']): number {
  const { sockets = 0, cores = 0, threads = 0 } = cpu ?? {};
  const most = sockets * RATIO;
  return most * cores * threads > MAX_VCPUS ? Math.max(Math.floor(MAX_VCPUS / (cores * threads)), sockets) : most;
}

/** Returns undefined if memory can't grow. */
function mostGuest(domain: Domain): Quantity | undefined {
  const { guest, maxGuest: own } = domain.memory ?? {};
  if (own !== undefined) return own;
  const most = guest === undefined ? undefined : binaryQuantity(quantityToNumber(guest) * RATIO);
  return whyFixed(domain, most) === undefined ? most : undefined;
}

/** Returns why memory can't be hotplugged into a VMI of this domain; undefined if it can. */
export function whyFixed({ memory }: Domain, maxGuest: Quantity | undefined): string | undefined {
  if (memory?.guest === undefined) return 'Guest memory must be configured when memory hotplug is enabled';
  if (maxGuest === undefined) return 'Max guest memory must be configured when memory hotplug is enabled';
  const [guest, most] = [quantityToNumber(memory.guest), quantityToNumber(maxGuest)];
  const block = memory.hugepages?.pageSize === '1Gi' ? 2 ** 30 : 2 ** 21;
  if (guest > most) return 'Guest memory is greater than the configured maxGuest memory';
  if (guest % block !== 0) return `Guest memory must be ${binaryQuantity(block)} aligned`;
  if (most % block !== 0) return `MaxGuest must be ${binaryQuantity(block)} aligned`;
  return guest < LEAST_MEMORY
    ? 'Memory hotplug is only available for VMs with at least 1Gi of guest memory'
    : undefined;
}
