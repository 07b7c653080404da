import type { Stored } from '../../api/objects.ts';
import { field, isObject, type Json } from '../lib/json.ts';

/**
 * KubeVirt's label of the claim with the state that a VM has in addition to its disks: of its TPM, its UEFI variables
 * and what tracks changed blocks. Its value is the name of the VM, by which KubeVirt finds the claim, whatever its
 * owner.
 */
export const STATE_CLAIM_LABEL = 'persistent-state-for';

/** The name of such a claim as earlier versions of KubeVirt made it, without the label. */
export const legacyStateClaim = (vm: string): string => `${STATE_CLAIM_LABEL}-${vm}`;

/** Reports whether the claim is one on which KubeVirt looks for the state of a VM of this name. */
export const isStateClaimOf = ({ metadata }: Stored, vm: string): boolean =>
  metadata.labels?.[STATE_CLAIM_LABEL] === vm || metadata.name === legacyStateClaim(vm);

/** Reports whether KubeVirt keeps state for VMs with this spec on a claim. It deletes that of a VM that needs none. */
export function keepsState(spec: unknown): boolean {
  const domain = field(spec, 'template', 'spec', 'domain');
  const tpm = field(domain, 'devices', 'tpm');
  const hasTpm = field(tpm, 'persistent') === true && field(tpm, 'enabled') !== false;
  return hasTpm || field(domain, 'firmware', 'bootloader', 'efi', 'persistent') === true;
}

/** What KubeVirt makes up for a VM that does not say it, and guests know the machine by. */
export interface Firmware {
  uuid?: string;
  serial?: string;
}

export function firmwareOf(spec: unknown): Firmware {
  const { uuid, serial } = firmwareIn(spec);
  return {
    ...(typeof uuid === 'string' && uuid !== '' ? { uuid } : {}),
    ...(typeof serial === 'string' && serial !== '' ? { serial } : {}),
  };
}

/** Returns the spec of a VM with this firmware, as far as its own is unset. */
export function withFirmware(spec: Json, firmware: Firmware): Json {
  const template = spec['template'];
  const vmi = field(template, 'spec');
  const domain = field(vmi, 'domain');
  if (!isObject(template) || !isObject(vmi) || !isObject(domain) || Object.keys(firmware).length === 0) return spec;
  const own = { ...firmware, ...firmwareIn(spec) };
  return { ...spec, template: { ...template, spec: { ...vmi, domain: { ...domain, firmware: own } } } };
}

function firmwareIn(spec: unknown): Json {
  const firmware = field(spec, 'template', 'spec', 'domain', 'firmware');
  return isObject(firmware) ? firmware : {};
}
