import { KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { isObject } from '../lib/json.ts';
import type { DiskTemplate } from '../template/disk-template.ts';
import type { Firmware } from './vm-state.ts';

/** Stands for the number of a VM whose name its pool would not give. */
export const NO_NUMBER = -1;

/** A kept disk, as stored on its claim. */
export interface KeptDisk {
  pool: string;
  /** UID of that pool: a later pool of the same name has no right to the disk. */
  poolUid: string;
  /** Number of the VM that had the disk, and of the next VM that may have it; or `NO_NUMBER`. */
  number: number;
  /** Name of the pool's disk template, without the number; of a claim that no template makes, its whole name. */
  disk: string;
  /** Name of the volume by which that VM used it; null if none did. */
  volume: string | null;
  /** Revision of that VM; null if unknown. */
  revision: string | null;
  /** The disk template that it was made from; null if its VM had none for it. */
  template: DiskTemplate | null;
  /** What guests know the machine by. */
  firmware: Firmware;
  /** Why the disk is kept: the pool was scaled in, or the VM is being healed and comes back at once. */
  keptBy: 'scale-in' | 'healing';
  /** RFC 3339. */
  keptAt: string;
}

interface Marked {
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
}

/** The labels and annotations of a kept disk's claim. */
export function keptDiskMark(kept: KeptDisk): { labels: Record<string, string>; annotations: Record<string, string> } {
  return {
    labels: { [POOL_LABEL]: kept.pool, [KEPT_DISK]: kept.poolUid },
    annotations: { [KEPT_DISK]: JSON.stringify(kept) },
  };
}

/** The merge patch values that remove the mark. */
export const noKeptDiskMark = { labels: { [POOL_LABEL]: null, [KEPT_DISK]: null }, annotations: { [KEPT_DISK]: null } };

/** Reads the kept disk from a claim's metadata; null if there is none, or it is not as drover writes it. */
export function keptDiskOf({ labels, annotations }: Marked): KeptDisk | null {
  const text = annotations?.[KEPT_DISK];
  const kept = text === undefined ? null : parsed(text);
  if (!isObject(kept) || labels?.[KEPT_DISK] !== kept['poolUid']) return null;
  const { pool, poolUid, number, disk, volume, revision, template, firmware, keptBy, keptAt } = kept;
  const isWhole =
    [pool, poolUid, disk, keptAt].every((one) => typeof one === 'string') &&
    [volume, revision].every((one) => one === null || typeof one === 'string') &&
    (template === null || isObject(template)) &&
    isObject(firmware) &&
    Number.isSafeInteger(number) &&
    (keptBy === 'scale-in' || keptBy === 'healing');
  return isWhole
    ? ({ pool, poolUid, number, disk, volume, revision, template, firmware, keptBy, keptAt } as KeptDisk)
    : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
