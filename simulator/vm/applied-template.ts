import { createHash } from 'node:crypto';
import { STARTED_FROM } from '../objects/annotations.ts';
import type { VmiSpec, VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { losesDrive, withoutPlugs } from './plugged-volumes.ts';

type Template = VirtualMachine['spec']['template'];

/**
 * Hashes of the template that a VMI was started from, to detect later changes of the template. They are kept on the VMI
 * because its own spec also changes in other ways.
 */
interface Hashes {
  /** Hash of the spec without its live-updatable fields and what can be plugged. */
  rest: string;
  memory: string;
  /** Hash of the spec without what can be plugged. */
  spec: string;
  /** Hash of the spec and the metadata. */
  all: string;
}

/** Each by itself: a VM is looked at often, and hashes take long. */
const hashOf: Record<keyof Hashes, (template: Template) => string> = {
  rest: ({ spec }) => hash(withoutLiveFields(spec)),
  memory: ({ spec }) => hash(spec.domain.memory),
  spec: ({ spec }) => hash(withoutPlugs(spec)),
  all: ({ metadata = {}, spec }) => hash({ metadata, spec }),
};

export const startedFrom = (template: Template): string =>
  [hashOf.rest, hashOf.memory, hashOf.spec, hashOf.all].map((of) => of(template)).join('-');

/** Reports whether the spec has a change that can't be applied to the running VMI. */
export function isTemplateChanged(vmi: VirtualMachineInstance, template: Template, liveUpdate: boolean): boolean {
  const before = hashesBefore(vmi);
  if (before === undefined) return false;
  if (losesDrive(template.spec, vmi)) return true;
  const now = { ...template, spec: withUuid(template.spec, vmi.spec.domain.firmware?.uuid) };
  if (!liveUpdate) return before.spec !== hashOf.spec(now);
  if (before.rest !== hashOf.rest(now)) return true;
  // Removing memory from the template altogether isn't a live update to another size.
  return template.spec.domain.memory?.guest === undefined && before.memory !== hashOf.memory(now);
}

/** Reports whether the template is unchanged, labels and annotations included. */
export const isSameTemplate = (vmi: VirtualMachineInstance, template: Template): boolean =>
  hashesBefore(vmi)?.all === hashOf.all(template);

function hashesBefore({ metadata }: VirtualMachineInstance): Hashes | undefined {
  const [rest, memory, spec, all] = metadata.annotations?.[STARTED_FROM]?.split('-') ?? [];
  return rest === undefined || memory === undefined || spec === undefined || all === undefined
    ? undefined
    : { rest, memory, spec, all };
}

function withoutLiveFields(spec: VmiSpec): VmiSpec {
  const { nodeSelector: _nodeSelector, affinity: _affinity, tolerations: _tolerations, ...rest } = withoutPlugs(spec);
  const { cpu, memory, ...domain } = rest.domain;
  const { sockets: _sockets, ...otherCpu } = cpu ?? {};
  const { guest: _guest, ...otherMemory } = memory ?? {};
  // Adding sockets to a template without any CPU isn't a live update.
  return { ...rest, domain: { ...domain, ...(cpu === undefined ? {} : { cpu: otherCpu }), memory: otherMemory } };
}

function withUuid(spec: VmiSpec, uuid: string | undefined): VmiSpec {
  if (uuid === undefined || spec.domain.firmware?.uuid) return spec;
  return { ...spec, domain: { ...spec.domain, firmware: { ...spec.domain.firmware, uuid } } };
}

const hash = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);

/** Returns JSON with sorted keys, so that equal objects give equal text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value ?? null, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
