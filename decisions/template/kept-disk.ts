import { KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { anyText, integer, json, object, oneOf, orNull, readAnnotation } from '../lib/payload-reader.ts';
import type { DiskTemplate } from './disk-template.ts';
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

/** A claim that is kept, and the disk on it. */
export interface KeptClaim {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** The claim is terminating: no VM can use it any more, and its name is not free yet. */
  deleting: boolean;
  /** KubeVirt keeps the state of the VM of this number on it: the VM's spec does not name it. */
  isOfState: boolean;
  kept: KeptDisk;
}

interface Metadata {
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
}

export function keptDiskMetadata(kept: KeptDisk): {
  labels: Record<string, string>;
  annotations: Record<string, string>;
} {
  return {
    labels: { [POOL_LABEL]: kept.pool, [KEPT_DISK]: kept.poolUid },
    annotations: { [KEPT_DISK]: JSON.stringify(kept) },
  };
}

/** The merge patch values that remove the mark. */
export const noKeptDiskMetadata = {
  labels: { [POOL_LABEL]: null, [KEPT_DISK]: null },
  annotations: { [KEPT_DISK]: null },
};

const KEPT = object<KeptDisk>({
  pool: anyText,
  poolUid: anyText,
  number: integer,
  disk: anyText,
  volume: orNull(anyText),
  revision: orNull(anyText),
  template: orNull(json),
  firmware: json,
  keptBy: oneOf({ 'scale-in': true, healing: true }),
  keptAt: anyText,
});

/** Reads the kept disk from a claim's metadata; null if there is none, or it is not as drover writes it. */
export function keptDiskOf({ labels, annotations }: Metadata): KeptDisk | null {
  const kept = readAnnotation(annotations?.[KEPT_DISK], KEPT);
  return labels?.[KEPT_DISK] === kept?.poolUid ? kept : null;
}
