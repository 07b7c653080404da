import { conditionOf, isTrue, withCondition, withoutCondition } from '../objects/conditions.ts';
import type { Domain, TimedCondition, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { quantityToNumber } from '../objects/quantity.ts';

const plug = (type: string): TimedCondition => ({
  type,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime: null,
});

/**
 * Returns the VMI with conditions for the CPUs and memory in its spec that its guest doesn't have yet. Only a migration
 * applies them.
 */
export function withHotplugConditions<T extends VirtualMachineInstance>(vmi: T): T {
  const { spec, status } = vmi;
  const before = status?.conditions ?? [];
  let conditions = before;
  const cpu = spec.domain.cpu;
  if (cpu?.maxSockets && vcpus(cpu) !== vcpus(status?.currentCPUTopology ?? cpu))
    conditions = once(conditions, 'HotVCPUChange');
  const { guest, maxGuest } = spec.domain.memory ?? {};
  const requested = status?.memory?.guestRequested;
  if (
    guest !== undefined &&
    maxGuest !== undefined &&
    requested !== undefined &&
    quantityToNumber(guest) !== quantityToNumber(requested)
  )
    conditions = once(conditions, 'HotMemoryChange');
  return conditions === before ? vmi : { ...vmi, status: { ...status, conditions } };
}

/** Reports whether the VMI has CPUs or memory pending that a migration would apply. */
export const waitsForHotplug = (vmi: VirtualMachineInstance): boolean =>
  conditionOf(vmi, 'HotVCPUChange') !== undefined || isTrue(vmi, 'HotMemoryChange');

/** Returns the VMI as it arrives on another node: with all CPUs and memory of its spec. */
export function hotplugged<T extends VirtualMachineInstance>(vmi: T): T {
  if (!waitsForHotplug(vmi)) return vmi;
  const { spec, status } = vmi;
  const { sockets, cores, threads } = status?.currentCPUTopology ?? {};
  const cpu = spec.domain.cpu;
  const guest = spec.domain.memory?.guest;
  const conditions = withoutCondition(withoutCondition(status?.conditions ?? [], 'HotVCPUChange'), 'HotMemoryChange');
  return {
    ...vmi,
    status: {
      ...status,
      conditions,
      currentCPUTopology: {
        sockets: cpu?.sockets ?? sockets ?? 0,
        cores: cpu?.cores ?? cores ?? 0,
        threads: cpu?.threads ?? threads ?? 0,
      },
      ...(guest === undefined ? {} : { memory: { ...status?.memory, guestCurrent: guest, guestRequested: guest } }),
    },
  };
}

const vcpus = ({ sockets, cores, threads }: NonNullable<Domain['cpu']>): number =>
  (sockets || 1) * (cores || 1) * (threads || 1);

const once = (conditions: TimedCondition[], type: string): TimedCondition[] =>
  conditions.some((condition) => condition.type === type) ? conditions : withCondition(conditions, plug(type));
