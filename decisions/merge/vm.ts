import { NOT_YET_RUN_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, listOf, type Json } from '../lib/json.ts';
import { diskTemplates, isLarger, sizeOf, withSize } from '../template/disk-template.ts';
import type { NewVirtualMachine } from '../template/vm-from-template.ts';
import { powerOf } from '../views/power.ts';
import { mergeMatchers, withoutMatchers } from './matchers.ts';
import { merge, UNKNOWN } from './merge.ts';

/** The parts of a stored VirtualMachine that drover writes. */
export interface WrittenVm {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: object;
}

/** A JSON merge patch (RFC 7386) for a VirtualMachine: null removes, lists are replaced as a whole. */
export interface VmPatch {
  metadata?: Json;
  spec?: Json;
}

/**
 * Returns what `live` should become to go from one revision to another. `base` is the VM that the pool would create
 * from the VM's present revision, `target` the VM that it would create from the new one; `base` is null if the template
 * of the present revision is lost. Only what differs between the two is changed: what users have made of the rest
 * stays, and so do additions by users and KubeVirt.
 */
export function mergeVm<Vm extends WrittenVm>(live: Vm, base: NewVirtualMachine | null, target: NewVirtualMachine): Vm {
  const { labels, annotations, ...others } = live.metadata;
  const texts = (key: 'labels' | 'annotations', now: object | undefined): object => {
    const then = base === null ? UNKNOWN : lasting(base.metadata[key]);
    const merged = merge({ live: now, base: then, target: lasting(target.metadata[key]) }, key);
    return merged === undefined ? {} : { [key]: merged };
  };
  const metadata = { ...others, ...texts('labels', labels), ...texts('annotations', annotations) };
  return { ...live, metadata, spec: mergeSpec({ ...live.spec }, base?.spec ?? null, target.spec) };
}

/** Labels or annotations without what is true only of a VM that was just created. */
function lasting(texts: Record<string, string> | undefined): Record<string, string> | undefined {
  const { [NOT_YET_RUN_ANNOTATION]: _notYetRun, ...rest } = texts ?? {};
  return texts === undefined || Object.keys(rest).length === 0 ? undefined : rest;
}

/** Returns the patch that turns `before` into `after`; null if nothing differs. */
export const mergePatch = (before: WrittenVm, after: WrittenVm): VmPatch | null =>
  difference(writtenParts(before), writtenParts(after)) ?? null;

export const writtenParts = ({ metadata: { labels, annotations }, spec }: WrittenVm): Json => ({
  metadata: { labels, annotations },
  spec,
});

function difference(before: Json, after: Json): Json | undefined {
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key): [string, unknown][] => {
    const [was, is] = [field(before, key) ?? null, field(after, key) ?? null];
    if (isObject(was) && isObject(is)) {
      const inner = difference(was, is);
      return inner === undefined ? [] : [[key, inner]];
    }
    return canonical(was) === canonical(is) ? [] : [[key, is]];
  });
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

function mergeSpec(live: Json, base: Json | null, target: Json): Json {
  const kept = keptVolumes(live, base, target);
  const [then, wanted] = [base && withVolumes(base, kept), withVolumes(target, kept)];
  const versions = { live: plain(live), base: then === null ? UNKNOWN : plain(then), target: plain(wanted) };
  const spec = merge(versions, 'spec') as Json;
  const disks = disksOf(live, base, target, volumesOf(spec));
  return {
    ...spec,
    ...mergeMatchers(live, base, target),
    ...mergePower(live, base, target),
    ...(disks === undefined ? {} : { dataVolumeTemplates: disks }),
  };
}

/** Returns a spec without the fields that have their own rules. */
function plain({
  running: _running,
  runStrategy: _runStrategy,
  dataVolumeTemplates: _dataVolumeTemplates,
  ...rest
}: Json): Json {
  return withoutMatchers(rest);
}

/**
 * A VM that a user started or stopped stays so; only a VM whose run strategy is as drover left it follows the
 * template.
 */
function mergePower(live: Json, base: Json | null, target: Json): Json {
  const [now, then, wanted] = [powerField(live), powerField(base), powerField(target)];
  if (powerOf(live) === undefined) return wanted;
  const isUnchanged = base !== null && powerOf(live) === powerOf(base);
  return isUnchanged && canonical(wanted) !== canonical(then) ? wanted : now;
}

/** KubeVirt accepts one of the two fields, never both. */
function powerField(spec: Json | null): Json {
  const { running, runStrategy } = spec ?? {};
  if (typeof running === 'boolean') return { running };
  return runStrategy === undefined ? {} : { runStrategy };
}

/**
 * Disk templates of an existing VM are never renamed: a restore gives them new names, which drover must not undo. They
 * grow with the template's, and are removed with the last volume that needs them: KubeVirt accepts none that no volume
 * refers to. The disk itself stays the VM's, and is used again if the template names it again.
 */
function disksOf(live: Json, base: Json | null, target: Json, volumes: readonly Json[]): unknown[] | undefined {
  const now = listOf(live['dataVolumeTemplates']);
  const known = new Set([...now, ...listOf(base?.['dataVolumeTemplates'])].map(templateName));
  const [used, usedBefore] = [new Set(volumes.map(diskName)), new Set(volumesOf(live).map(diskName))];
  const wanted = diskTemplates(target);
  const active = now.filter((template) => {
    const name = templateName(template);
    return used.has(name) || !usedBefore.has(name) || wanted.has(String(name));
  });
  // If it is unknown which of them are new, adds only disks that a volume needs.
  const added = listOf(target['dataVolumeTemplates']).filter(
    (template) => !known.has(templateName(template)) && (base !== null || used.has(templateName(template))),
  );
  if (live['dataVolumeTemplates'] === undefined && added.length === 0) return undefined;
  return [
    ...active.map((template) => (isObject(template) ? mergeDisk(template, live, base, target) : template)),
    ...added,
  ];
}

/** Labels and size follow the template's; the disk's source and storage can no longer change. */
function mergeDisk(disk: Json, live: Json, base: Json | null, target: Json): Json {
  const name = templateName(disk) as string;
  const wanted = diskTemplates(target).get(name);
  const metadata = merge(
    {
      live: disk['metadata'],
      base: base === null ? UNKNOWN : diskTemplates(base).get(name)?.['metadata'],
      target: wanted?.['metadata'],
    },
    'metadata',
  );
  const merged = wanted === undefined ? disk : { ...disk, metadata };
  const size = sizeOrNull(wanted ?? templateOfDisk(name, live, target));
  return size !== null && isLarger(sizeOf(disk), size) ? withSize(merged, size) : merged;
}

/** Returns the template of the disk that the volume of this disk would have: a restore has put this disk there. */
function templateOfDisk(name: string, live: Json, target: Json): Json | undefined {
  const volume = volumesOf(live).find((one) => diskName(one) === name);
  const other = volume && volumesByName(target).get(volume['name']);
  return other && diskTemplates(target).get(String(diskName(other)));
}

const sizeOrNull = (template: Json | undefined): string | null => (template === undefined ? null : sizeOf(template));

/** Returns the VM's disks that grow with this change of its spec: their claims must grow too. */
export function grownDisks(before: WrittenVm, after: WrittenVm): { name: string; from: string | null; to: string }[] {
  const sizes = diskTemplates(before.spec);
  return [...diskTemplates(after.spec)].flatMap(([name, template]) => {
    const [old, to] = [sizes.get(name), sizeOf(template)];
    return old !== undefined && to !== null && isLarger(sizeOf(old), to) ? [{ name, from: sizeOf(old), to }] : [];
  });
}

/** Returns the volumes of the template's names whose disks a user or a restore has changed. */
function keptVolumes(live: Json, base: Json | null, target: Json): Map<unknown, Json> {
  const [now, then] = [volumesByName(live), volumesByName(base)];
  return new Map(
    volumesOf(target).flatMap((volume): [unknown, Json][] => {
      const name = volume['name'];
      const current = now.get(name);
      return current !== undefined && keepsDisk(current, then.get(name), volume) ? [[name, current]] : [];
    }),
  );
}

/** Returns a spec with these volumes in the place of those of their names. */
function withVolumes(spec: Json, kept: ReadonlyMap<unknown, Json>): Json {
  if (kept.size === 0) return spec;
  const volumes = volumesOf(spec).map((volume) => kept.get(volume['name']) ?? volume);
  const template = spec['template'] as Json;
  return { ...spec, template: { ...template, spec: { ...(template['spec'] as Json), volumes } } };
}

function keepsDisk(live: Json, base: Json | undefined, target: Json): boolean {
  if (sourceOf(live) === sourceOf(target)) return false;
  // Without a base it is unknown who chose the disk: data is not taken out of a VM on a guess.
  return base === undefined ? diskName(live) !== undefined : sourceOf(live) !== sourceOf(base);
}

/** The kind of a volume's source and, for a disk, its name. */
const sourceOf = (volume: Json): string =>
  canonical([
    Object.keys(volume)
      .filter((key) => key !== 'name')
      .sort(),
    diskName(volume),
  ]);

const diskName = (volume: Json): unknown =>
  field(volume, 'dataVolume', 'name') ?? field(volume, 'persistentVolumeClaim', 'claimName');
const templateName = (template: unknown): unknown => field(template, 'metadata', 'name');

const volumesOf = (spec: Json | null): Json[] => listOf(field(spec, 'template', 'spec', 'volumes')).filter(isObject);
const volumesByName = (spec: Json | null): Map<unknown, Json> =>
  new Map(volumesOf(spec).map((volume) => [volume['name'], volume]));
