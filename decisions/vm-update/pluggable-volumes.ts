import { canonical } from '../lib/canonical-json.ts';
import { field, listOf, type Json } from '../lib/json.ts';
import { byName } from '../merge/named-items.ts';

export const isHotpluggable = (volume: unknown): boolean =>
  field(volume, 'persistentVolumeClaim', 'hotpluggable') === true ||
  field(volume, 'dataVolume', 'hotpluggable') === true;

/**
 * Returns the names of the volumes that KubeVirt plugs for the change from one VMI spec to another: those with a claim
 * that are marked as hotpluggable, if KubeVirt can plug their disks. A disc goes into a CD-ROM drive and out of it, but
 * the drive itself comes and goes with a restart.
 */
export function pluggedVolumes(from: Json, to: Json): Set<string> {
  const [before, after] = [partsOf(from), partsOf(to)];
  const names = new Set([...before.volumes.keys(), ...after.volumes.keys()]);
  return new Set([...names].filter((name) => isPlugged(partOf(before, name), partOf(after, name))));
}

/** What a VMI spec has of one name. */
interface Part {
  volume: unknown;
  disk: unknown;
}

interface Parts {
  volumes: ReadonlyMap<string, unknown>;
  disks: ReadonlyMap<string, unknown>;
}

const NONE: ReadonlyMap<string, unknown> = new Map();

const partsOf = ({ volumes, domain }: Json): Parts => ({
  volumes: byName(listOf(volumes)) ?? NONE,
  disks: byName(listOf(field(domain, 'devices', 'disks'))) ?? NONE,
});

const partOf = ({ volumes, disks }: Parts, name: string): Part => ({
  volume: volumes.get(name),
  disk: disks.get(name),
});

function isPlugged(from: Part, to: Part): boolean {
  if (isSame(from.volume, to.volume)) return false;
  if ([from.volume, to.volume].some((volume) => volume !== undefined && !isHotpluggable(volume))) return false;
  if (isDrive(from.disk) || isDrive(to.disk)) return isSame(from.disk, to.disk);
  return to.volume === undefined || isPluggableDisk(to.disk);
}

const isSame = (one: unknown, other: unknown): boolean => canonical(one ?? null) === canonical(other ?? null);

const isDrive = (disk: unknown): boolean => field(disk, 'cdrom') !== undefined;

/** KubeVirt refuses all others, such as one without a bus (`ValidateHotplugDiskConfiguration`). */
function isPluggableDisk(disk: unknown): boolean {
  const bus = field(disk, 'disk', 'bus') ?? field(disk, 'lun', 'bus');
  if (bus === 'virtio') return field(disk, 'disk') !== undefined;
  return bus === 'scsi' && field(disk, 'dedicatedIOThread') !== true;
}
