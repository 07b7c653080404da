import { isDeepStrictEqual } from 'node:util';
import { conditionOf, isTrue } from '../objects/conditions.ts';
import type { VmiSpec, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { quantityToNumber } from '../objects/quantity.ts';
import { isDeleting, isFinal, isMigrating } from '../objects/vmi.ts';
import { isTemplateChanged } from './applied-template.ts';
import { whyFixed } from './hotplug-capacity.ts';
import { plugVolumes } from './plugged-volumes.ts';
import type { RestartRequired } from './status.ts';

/** How a change of a running VM's template is applied. */
export interface Rollout {
  restartRequired: RestartRequired;
  /** The VMI's spec with the live-updatable changes; undefined if there are none. */
  live: VmiSpec | undefined;
  /** What can't be applied at the moment and is retried. */
  failure?: { reason: string; message: string };
}

/** The result for one field, or for several fields that belong together. */
type Step = { spec: VmiSpec } | { message: string } | { failure: { reason: string; message: string } };
type Apply = (wanted: VmiSpec, vmi: VirtualMachineInstance, now: VmiSpec) => Step;

export const NOT_LIVE = 'a non-live-updatable field was changed in the template spec';
const MEMORY = 'memory updated in template spec';

export function planRollout(vm: VirtualMachine, vmi: VirtualMachineInstance, liveUpdate: boolean): Rollout {
  const { template } = vm.spec;
  // Volumes are plugged whatever the strategy is, and whatever else waits for a restart.
  const plugged = plugVolumes(vm.spec, vmi);
  let message = isTemplateChanged(vmi, template, liveUpdate) ? NOT_LIVE : undefined;
  if ('refused' in plugged)
    return {
      restartRequired: message === undefined ? 'none' : { message },
      live: undefined,
      failure: volumeError(plugged),
    };
  let { spec } = plugged;
  if (message !== undefined) return { restartRequired: { message }, live: changed(vmi, spec) };
  if (!liveUpdate || isDeleting(vmi) || isFinal(vmi)) return { restartRequired: 'none', live: changed(vmi, spec) };
  for (const apply of [applySockets, applyPlacement, applyTolerations, applyMemory]) {
    const step = apply(template.spec, vmi, spec);
    if ('failure' in step)
      return { restartRequired: required(message), live: changed(vmi, spec), failure: step.failure };
    if ('message' in step) message ??= step.message;
    else spec = step.spec;
  }
  return { restartRequired: required(message), live: changed(vmi, spec) };
}

const volumeError = ({ refused }: { refused: string }): { reason: string; message: string } => ({
  reason: 'HotPlugVolumeError',
  message: `Error encountered while handling declarative hotplug volumes: admission webhook "virtualmachineinstances-update-validator.kubevirt.io" denied the request: ${refused}`,
});

/** KubeVirt removes this condition and sets it again, with a new time, each time it reconciles the VM. */
const required = (message: string | undefined): RestartRequired =>
  message === undefined ? 'none' : { message, isNew: true };

const changed = ({ spec }: VirtualMachineInstance, now: VmiSpec): VmiSpec | undefined =>
  isDeepStrictEqual(spec, now) ? undefined : now;

const applySockets: Apply = (wanted, vmi, now) => {
  const { cpu } = now.domain;
  if (wanted.domain.cpu === undefined || cpu === undefined) return { spec: now };
  const { sockets = 0 } = wanted.domain.cpu;
  const { sockets: current = 0, maxSockets = 0 } = cpu;
  if (sockets === current) return { spec: now };
  const failure = busy(vmi, 'HotVCPUChange', 'CPU');
  if (failure !== undefined)
    return {
      failure: {
        reason: 'HotPlugCPUError',
        message: `Error encountered while handling CPU change request: ${failure}`,
      },
    };
  if (sockets > maxSockets)
    return { message: "CPU sockets updated in template spec to a value higher than what's available" };
  if (sockets < current) return { message: 'Reduction of CPU socket count requires a restart' };
  return { spec: { ...now, domain: { ...now.domain, cpu: { ...cpu, sockets } } } };
};

const applyPlacement: Apply = (wanted, vmi, now) => {
  const { nodeSelector: _nodeSelector, affinity: _affinity, ...rest } = now;
  const { nodeSelector, affinity } = wanted;
  const spec = {
    ...rest,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(affinity === undefined ? {} : { affinity }),
  };
  if (!isMigrating(vmi) || isDeepStrictEqual(spec, now)) return { spec };
  const message =
    'Error encountered while handling node affinity change request: Node affinity should not be changed during VMI migration';
  return { failure: { reason: 'AffinityChangeError', message } };
};

const applyTolerations: Apply = (wanted, vmi, now) => {
  const { tolerations: _tolerations, ...rest } = now;
  const { tolerations } = wanted;
  const spec = { ...rest, ...(tolerations === undefined ? {} : { tolerations }) };
  if (!isMigrating(vmi) || isDeepStrictEqual(spec, now)) return { spec };
  const message =
    'Error encountered while handling tolerations change request: tolerations should not be changed during VMI migration';
  return { failure: { reason: 'TolerationsChangeError', message } };
};

const applyMemory: Apply = (wanted, vmi, now) => {
  const guest = wanted.domain.memory?.guest;
  const { guest: current, maxGuest } = now.domain.memory ?? {};
  const { guestCurrent, guestAtBoot } = vmi.status?.memory ?? {};
  if (guest === undefined || current === undefined || guestCurrent === undefined) return { spec: now };
  if (conditionOf(vmi, 'HotMemoryChange')?.status === 'False')
    return { message: `${MEMORY}. Memory-hotplug failed and is not available for this VM configuration` };
  if (quantityToNumber(guest) === quantityToNumber(current)) return { spec: now };
  if (!isTrue(vmi, 'LiveMigratable'))
    return { message: `${MEMORY}. Memory-hotplug is only available for migratable VMs` };
  if (maxGuest === undefined)
    return { message: `${MEMORY}. Memory-hotplug is not available for this VM configuration` };
  const failure = busy(vmi, 'HotMemoryChange', 'memory');
  if (failure !== undefined)
    return {
      failure: {
        reason: 'HotPlugMemoryError',
        message: `error encountered while handling memory hotplug requests: ${failure}`,
      },
    };
  const fixed = whyFixed(wanted.domain, maxGuest);
  if (fixed !== undefined) return { message: `memory hotplug not supported, ${fixed}` };
  if (guestAtBoot !== undefined && quantityToNumber(guest) < quantityToNumber(guestAtBoot))
    return { message: `${MEMORY} to a value lower than what the VM started with` };
  return { spec: { ...now, domain: { ...now.domain, memory: { ...now.domain.memory, guest } } } };
};

function busy(vmi: VirtualMachineInstance, condition: string, what: string): string | undefined {
  if (isTrue(vmi, condition)) return `another ${what} hotplug is in progress`;
  return isMigrating(vmi) ? `${what} hotplug is not allowed while VMI is migrating` : undefined;
}
