import { createHash } from 'node:crypto';
import type { Stored } from '../../api/objects.ts';
import { STARTED_FROM } from '../objects/annotations.ts';
import { timestamp } from '../objects/conditions.ts';
import type { VmiSpec, VmiStatus, KubeVirt, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { vmOwner } from '../objects/vm-owner.ts';
import { GENERATION_ANNOTATION, VMI_FINALIZER, VM_CONTROLLER_FINALIZER } from '../objects/vmi.ts';
import { startedFrom } from '../vm/applied-template.ts';
import { withHotplugCapacity } from '../vm/hotplug-capacity.ts';
import { isPausedStartRequested } from '../vm/run-strategy.ts';

/** Adds what admission sets on a VM's template if unset: the machine type, and a firmware UUID that stays the same. */
export function withDefaults(spec: VmiSpec, machineType: string, uuid: string): VmiSpec {
  const { machine, firmware } = spec.domain;
  if (machine?.type && firmware?.uuid) return spec;
  return {
    ...spec,
    domain: {
      ...spec.domain,
      machine: { ...machine, type: machine?.type || machineType },
      firmware: { ...firmware, uuid: firmware?.uuid || uuid },
    },
  };
}

/** Returns a UUID that is always the same for the same text. */
export function uuidFrom(text: string): string {
  const hex = createHash('sha1').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** Returns the VMI that a VM starts: named like the VM, and owned by it. */
export function vmiOf(
  machine: Stored<VirtualMachine>,
  kubevirt: KubeVirt | undefined,
  now: number,
): VirtualMachineInstance {
  const { template } = machine.spec;
  const { metadata } = template;
  const spec = withHotplugCapacity(template.spec, kubevirt);
  const { name, namespace, uid, generation } = machine.metadata;
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: {
        ...metadata?.annotations,
        [GENERATION_ANNOTATION]: String(generation ?? 1),
        [STARTED_FROM]: startedFrom(template),
      },
      ownerReferences: [vmOwner({ name, uid })],
      finalizers: [VM_CONTROLLER_FINALIZER, VMI_FINALIZER],
    },
    spec: { ...spec, ...(isPausedStartRequested(machine) ? { startStrategy: 'Paused' } : {}) },
    status: pending(spec, now),
  };
}

/** Returns the status that admission sets on a new VMI. */
export const pending = ({ domain: { cpu, memory } }: VmiSpec, now: number): VmiStatus => ({
  phase: 'Pending',
  phaseTransitionTimestamps: [{ phase: 'Pending', phaseTransitionTimestamp: timestamp(now) }],
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'GuestNotRunning',
      message: 'Guest VM is not reported as running',
      lastProbeTime: timestamp(now),
      lastTransitionTime: timestamp(now),
    },
  ],
  ...(cpu === undefined
    ? {}
    : { currentCPUTopology: { sockets: cpu.sockets ?? 0, cores: cpu.cores ?? 0, threads: cpu.threads ?? 0 } }),
  ...(memory?.guest === undefined
    ? {}
    : { memory: { guestAtBoot: memory.guest, guestCurrent: memory.guest, guestRequested: memory.guest } }),
});
