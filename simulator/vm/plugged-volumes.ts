import { isDeepStrictEqual } from 'node:util';
import type { VirtualMachine, VirtualMachineInstance, VmiSpec, Volume } from '../objects/kubevirt.ts';
import { isDeleting, phaseOf } from '../objects/vmi.ts';

/** A disk, a LUN or a CD-ROM drive. */
interface Disk {
  name: string;
  disk?: { bus?: string };
  lun?: { bus?: string };
  cdrom?: object;
  dedicatedIOThread?: boolean;
}

const volumesOf = ({ volumes = [] }: VmiSpec): Volume[] => volumes;

function disksOf({ domain }: VmiSpec): Disk[] {
  const { disks = [] } = (domain['devices'] ?? {}) as { disks?: Disk[] };
  return disks;
}

const names = (all: readonly { name: string }[]): Set<string> => new Set(all.map(({ name }) => name));

const isHotpluggable = ({ persistentVolumeClaim, dataVolume }: Volume): boolean =>
  [persistentVolumeClaim, dataVolume].some((source) => (source as { hotpluggable?: boolean })?.hotpluggable === true);

/** Returns the spec without what can be plugged: hotpluggable volumes with their disks, and drives without a disc. */
export function withoutPlugs(spec: VmiSpec): VmiSpec {
  const volumes = volumesOf(spec).filter((volume) => !isHotpluggable(volume));
  const [fixed, all] = [names(volumes), names(volumesOf(spec))];
  const disks = disksOf(spec).filter(({ name, cdrom }) => fixed.has(name) || (!all.has(name) && cdrom === undefined));
  return withDisks(spec, volumes, disks);
}

/** Reports whether the template lacks a CD-ROM drive that the VMI has: it goes with a restart only. */
export const losesDrive = (template: VmiSpec, { spec }: VirtualMachineInstance): boolean =>
  disksOf(spec).some(({ name, cdrom }) => cdrom !== undefined && !names(disksOf(template)).has(name));

/**
 * Plugs volumes into a VMI and out of it, at once, as KubeVirt does with `DeclarativeHotplugVolumes`; `refused`: why
 * admission refuses the VMI then. A volume that has changed goes first, and comes back in the next pass.
 */
export function plugVolumes(
  { updateVolumesStrategy, template }: VirtualMachine['spec'],
  vmi: VirtualMachineInstance,
): { spec: VmiSpec } | { refused: string } {
  const { spec } = vmi;
  if (updateVolumesStrategy === 'Migration' || isDeleting(vmi) || phaseOf(vmi) !== 'Running') return { spec };
  const wanted = new Map(volumesOf(template.spec).map((volume) => [volume.name, volume]));
  const volumes = volumesOf(spec).filter((volume) => {
    const now = wanted.get(volume.name);
    if (!isHotpluggable(volume)) return true;
    return now !== undefined && (!isHotpluggable(now) || isDeepStrictEqual(now, volume));
  });
  const before = names(volumesOf(spec));
  const added = volumesOf(template.spec).filter((volume) => isHotpluggable(volume) && !before.has(volume.name));
  const all = [...volumes, ...added];
  const disks = disksOf(spec).filter(
    ({ name, cdrom }) => names(all).has(name) || (cdrom !== undefined && names(disksOf(template.spec)).has(name)),
  );
  const newDisks = disksOf(template.spec).filter(({ name }) => names(added).has(name) && !names(disks).has(name));
  const refused = newDisks.map(whyNotPlugged).find((why) => why !== undefined);
  const bare = added.find(({ name }) => !names([...disks, ...newDisks]).has(name));
  if (refused !== undefined || bare !== undefined) return { refused: refused ?? `disk ${bare!.name} does not exist` };
  if (added.length === 0 && volumes.length === before.size) return { spec };
  return { spec: withDisks(spec, all, [...disks, ...newDisks]) };
}

function whyNotPlugged({ name, disk, lun, dedicatedIOThread }: Disk): string | undefined {
  const of = 'Hotplug configuration for';
  const { bus = '' } = disk ?? lun ?? {};
  if (disk === undefined && lun === undefined)
    return `${of} [${name}] requires diskDevice of type 'disk' or 'lun' to be used.`;
  if (disk !== undefined && bus !== 'scsi' && bus !== 'virtio')
    return `${of} disk [${name}] requires bus to be 'scsi' or 'virtio'. [${bus}] is not permitted.`;
  if (disk === undefined && bus !== 'scsi')
    return `${of} LUN [${name}] requires bus to be 'scsi'. [${bus}] is not permitted.`;
  return dedicatedIOThread === true && bus !== 'virtio'
    ? `${of} [${name}] requires virtio bus for IOThreads.`
    : undefined;
}

function withDisks(spec: VmiSpec, volumes: Volume[], disks: Disk[]): VmiSpec {
  const { volumes: _volumes, ...rest } = spec;
  const { disks: _disks, ...devices } = (spec.domain['devices'] ?? {}) as { disks?: Disk[] };
  return {
    ...rest,
    ...(volumes.length === 0 ? {} : { volumes }),
    domain: { ...spec.domain, devices: { ...devices, ...(disks.length === 0 ? {} : { disks }) } },
  };
}
