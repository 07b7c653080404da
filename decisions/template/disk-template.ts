import { parseQuantity, isSameQuantity } from '../../api/lib/quantity.ts';
import type { Disruption, VmTemplate } from '../../api/pool/pool.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { normalForm } from './normal-form.ts';
import { hashOf } from './revision.ts';

/** An item of `spec.dataVolumeTemplates`. */
export type DiskTemplate = Json;

/** The disk templates of a VirtualMachine's spec, by name. */
export function diskTemplates(spec: { dataVolumeTemplates?: unknown } | null | undefined): Map<string, DiskTemplate> {
  const { dataVolumeTemplates: templates } = spec ?? {};
  const byName = (Array.isArray(templates) ? templates : [])
    .filter(isObject)
    .flatMap((template): [string, DiskTemplate][] => {
      const name = field(template, 'metadata', 'name');
      return typeof name === 'string' ? [[name, template]] : [];
    });
  return new Map(byName);
}

const CLAIMS = ['pvc', 'storage'] as const;

/** The size that a disk template asks for; null if it leaves that to its source. */
export function sizeOf(template: DiskTemplate): string | null {
  for (const claim of CLAIMS) {
    const size = field(template['spec'], claim, 'resources', 'requests', 'storage');
    if (typeof size === 'string' || typeof size === 'number') return String(size);
  }
  return null;
}

/** Returns the template with another size, in the field where it has one. */
export function withSize(template: DiskTemplate, size: string): DiskTemplate {
  const spec = template['spec'] as Json;
  const claim = CLAIMS.find((key) => isObject(spec[key])) ?? 'storage';
  const claimSpec = (spec[claim] ?? {}) as Json;
  const resources = (claimSpec['resources'] ?? {}) as Json;
  const requests = { ...(resources['requests'] as Json | undefined), storage: size };
  return { ...template, spec: { ...spec, [claim]: { ...claimSpec, resources: { ...resources, requests } } } };
}

/**
 * Hash of everything in a disk template that a disk can't change once created: its contents and how it is stored, but
 * not its size.
 */
const diskIdentity = (template: DiskTemplate): string => hashOf(normalForm(lasting(template)));

function lasting({ spec }: DiskTemplate): Json {
  // The priority of filling the disk is irrelevant once it is filled.
  const { priorityClassName: _priorityClassName, ...rest } = isObject(spec) ? spec : {};
  const claims = CLAIMS.flatMap((key): [string, Json][] => {
    const claim = rest[key];
    if (!isObject(claim)) return [];
    const { resources, ...others } = claim;
    const { requests, ...limits } = isObject(resources) ? resources : {};
    const { storage: _storage, ...otherRequests } = isObject(requests) ? requests : {};
    const hasOthers = Object.keys(limits).length + Object.keys(otherRequests).length > 0;
    return [[key, { ...others, ...(hasOthers ? { resources: { ...limits, requests: otherRequests } } : {}) }]];
  });
  return { ...rest, ...Object.fromEntries(claims) };
}

/** True if both templates would create the same disk. */
export function isSameDisk(a: DiskTemplate, b: DiskTemplate): boolean {
  const [size, another] = [sizeOf(a), sizeOf(b)];
  const isSameSize = size === null || another === null || isSameQuantity(size, another);
  return isSameSize && diskIdentity(a) === diskIdentity(b);
}

/** True if the second size is greater; a disk without a size accepts any. */
export function isLarger(from: string | null, to: string | null): boolean {
  if (to === null) return false;
  return from === null || (parseQuantity(to) ?? 0n) > (parseQuantity(from) ?? 0n);
}

/** Returns why a disk made from one template can't become what the other asks for; null if it can. */
function whyRecreated(from: DiskTemplate, to: DiskTemplate): string | null {
  if (diskIdentity(from) !== diskIdentity(to)) return 'its source or its storage is different';
  const [was, is] = [sizeOf(from), sizeOf(to)];
  return was !== null && is !== null && isLarger(is, was) ? `it can't shrink from ${was} to ${is}` : null;
}

/**
 * The disruption that it takes for a VM to get the disks of another template. `plugged`: names of disks that KubeVirt
 * plugs in or out meanwhile, so that they may come and go.
 */
export function diskDisruption(
  from: VmTemplate,
  to: VmTemplate,
  plugged: ReadonlySet<unknown> = new Set(),
): Disruption {
  const [before, after] = [diskTemplates(from.spec), diskTemplates(to.spec)];
  let disruption: Disruption = 'None';
  for (const [name, template] of after) {
    const old = before.get(name);
    if (old === undefined) disruption = plugged.has(name) ? disruption : 'Restart';
    else if (whyRecreated(old, template) !== null) return 'Replace';
    else if (disruption === 'None' && isLarger(sizeOf(old), sizeOf(template))) disruption = 'Live';
  }
  return [...before.keys()].every((name) => after.has(name) || plugged.has(name)) ? disruption : 'Restart';
}

/** Says which disks would have to be recreated for another template, and why. */
export function recreatedDisks(from: VmTemplate, to: VmTemplate): string[] {
  const before = diskTemplates(from.spec);
  return [...diskTemplates(to.spec)].flatMap(([name, template]) => {
    const old = before.get(name);
    const message = old === undefined ? null : whyRecreated(old, template);
    return message === null ? [] : [`disk ${name}: ${message}`];
  });
}
