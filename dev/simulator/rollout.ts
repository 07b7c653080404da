import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isTrue } from './conditions.ts';
import { STARTED_FROM } from './knobs.ts';
import { amountOf } from './quantity.ts';
import type { InstanceSpec, KubeVirt, VirtualMachine, VirtualMachineInstance } from './types.ts';

/** What becomes of a change in a running VM's template. */
export interface Rollout {
  /** Why the change waits for a restart; undefined where it need not. */
  restartRequired: string | undefined;
  /** The instance's spec with what can change under a running guest; undefined where nothing of that differs. */
  live: InstanceSpec | undefined;
}

export const NOT_LIVE = 'a non-live-updatable field was changed in the template spec';
const MEMORY = 'memory updated in template spec';

export const isLiveUpdate = (kubevirt: KubeVirt | undefined): boolean =>
  (kubevirt?.spec?.configuration?.vmRolloutStrategy ?? 'LiveUpdate') === 'LiveUpdate';

/**
 * Hashes of a template's spec, one without what may change under a running guest and one of all of it.
 * They are kept on the instance, for its own spec also changes by other ways than its VM's template.
 */
export function startedFrom(spec: InstanceSpec): string {
  return `${hash(withoutLiveFields(spec))}-${hash(spec)}`;
}

export function planRollout(machine: VirtualMachine, instance: VirtualMachineInstance, liveUpdate: boolean): Rollout {
  const wanted = machine.spec.template.spec;
  const [staged, all] = (instance.metadata.annotations?.[STARTED_FROM] ?? '').split('-');
  const [stagedNow, allNow] = startedFrom(withUuid(wanted, instance.spec.domain.firmware?.uuid)).split('-');
  const changed = liveUpdate ? staged !== stagedNow : all !== allNow;
  if (staged !== '' && changed) return { restartRequired: NOT_LIVE, live: undefined };
  if (!liveUpdate) return { restartRequired: undefined, live: undefined };
  const refusal = refuseSockets(wanted, instance.spec) ?? refuseMemory(wanted, instance);
  if (refusal !== undefined) return { restartRequired: refusal, live: undefined };
  const live = withLiveFields(instance.spec, wanted);
  return { restartRequired: undefined, live: isDeepStrictEqual(live, instance.spec) ? undefined : live };
}

/** What may be changed up to, for a guest that starts now: given, or the cluster's, or four times what it starts with. */
export function withRoomToGrow(spec: InstanceSpec, kubevirt: KubeVirt | undefined): InstanceSpec {
  if (!isLiveUpdate(kubevirt)) return spec;
  const { maxHotplugRatio = 4, maxCpuSockets, maxGuest } = kubevirt?.spec?.configuration?.liveUpdateConfiguration ?? {};
  const { cpu, memory } = spec.domain;
  const sockets = cpu?.sockets ?? 1;
  const maxSockets = cpu?.maxSockets ?? Math.max(sockets, maxCpuSockets ?? sockets * maxHotplugRatio);
  const guest = memory?.guest;
  const roomy = guest !== undefined && amountOf(guest) >= 2 ** 30;
  const most = memory?.maxGuest ?? (roomy ? (maxGuest ?? `${(amountOf(guest) * maxHotplugRatio) / 2 ** 20}Mi`) : undefined);
  return {
    ...spec,
    domain: {
      ...spec.domain,
      cpu: { cores: 1, threads: 1, ...cpu, sockets, maxSockets },
      ...(memory === undefined ? {} : { memory: { ...memory, ...(most === undefined ? {} : { maxGuest: most }) } }),
    },
  };
}

function refuseSockets(wanted: InstanceSpec, now: InstanceSpec): string | undefined {
  const sockets = wanted.domain.cpu?.sockets;
  const { sockets: current, maxSockets } = now.domain.cpu ?? {};
  if (sockets === undefined || current === undefined || sockets === current) return undefined;
  if (sockets > (maxSockets ?? 0)) return "CPU sockets updated in template spec to a value higher than what's available";
  return sockets < current ? 'Reduction of CPU socket count requires a restart' : undefined;
}

function refuseMemory(wanted: InstanceSpec, instance: VirtualMachineInstance): string | undefined {
  const { spec: now, status } = instance;
  const guest = wanted.domain.memory?.guest;
  const { guest: current, maxGuest } = now.domain.memory ?? {};
  if (guest === undefined || current === undefined || amountOf(guest) === amountOf(current)) return undefined;
  if (!isTrue(instance, 'LiveMigratable')) return `${MEMORY}. Memory-hotplug is only available for migratable VMs`;
  if (maxGuest === undefined) return `${MEMORY}. Memory-hotplug is not available for this VM configuration`;
  if (amountOf(guest) < amountOf(status?.memory?.guestAtBoot ?? current))
    return `${MEMORY} to a value lower than what the VM started with`;
  return amountOf(guest) > amountOf(maxGuest) ? `${MEMORY} to a value higher than what's available` : undefined;
}

function withLiveFields(now: InstanceSpec, wanted: InstanceSpec): InstanceSpec {
  const { nodeSelector: _nodeSelector, affinity: _affinity, tolerations: _tolerations, ...rest } = now;
  const { nodeSelector, affinity, tolerations } = wanted;
  const { cpu, memory } = now.domain;
  const { sockets } = wanted.domain.cpu ?? {};
  const { guest } = wanted.domain.memory ?? {};
  return {
    ...rest,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(tolerations === undefined ? {} : { tolerations }),
    domain: {
      ...now.domain,
      ...(cpu === undefined || sockets === undefined ? {} : { cpu: { ...cpu, sockets } }),
      ...(memory === undefined || guest === undefined ? {} : { memory: { ...memory, guest } }),
    },
  };
}

function withoutLiveFields(spec: InstanceSpec): InstanceSpec {
  const { nodeSelector: _nodeSelector, affinity: _affinity, tolerations: _tolerations, ...rest } = spec;
  const { cpu, memory, ...domain } = rest.domain;
  const { sockets: _sockets, ...otherCpu } = cpu ?? {};
  const { guest: _guest, ...otherMemory } = memory ?? {};
  return { ...rest, domain: { ...domain, cpu: otherCpu, memory: otherMemory } };
}

function withUuid(spec: InstanceSpec, uuid: string | undefined): InstanceSpec {
  if (uuid === undefined || spec.domain.firmware?.uuid) return spec;
  return { ...spec, domain: { ...spec.domain, firmware: { ...spec.domain.firmware, uuid } } };
}

const hash = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);

/** JSON with its keys in order, so that equal objects give equal text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
