import { KEPT_DISK, POOL_LABEL } from '../../api/names.ts';
import { isObject } from '../lib/json.ts';

/** What the claim of a kept disk says of itself. */
export interface KeptDisk {
  pool: string;
  /** Of that pool: another of its name has no part in the disk. */
  poolUid: string;
  /** Of the VM that it was a disk of, and of the next VM that may have it. */
  number: number;
  /** Name of the pool's disk template, without the number. */
  disk: string;
  /** Revision of that VM; null where nobody knows. */
  revision: string | null;
  /** What of its template can't be changed without making the disk anew (`diskIdentity`). */
  identity: string;
  /** As its template had it; null where that named none. */
  size: string | null;
  /** Why the VM has left it: the pool was scaled in, or the VM is being healed and comes back at once. */
  keptBy: 'scale-in' | 'healing';
  /** RFC 3339. */
  keptAt: string;
}

interface Marked {
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
}

/** The labels and annotations of its claim. */
export function keptDiskMark(kept: KeptDisk): { labels: Record<string, string>; annotations: Record<string, string> } {
  return {
    labels: { [POOL_LABEL]: kept.pool, [KEPT_DISK]: kept.poolUid },
    annotations: { [KEPT_DISK]: JSON.stringify(kept) },
  };
}

/** What takes the mark off again. */
export const noKeptDiskMark = { labels: { [POOL_LABEL]: null, [KEPT_DISK]: null }, annotations: { [KEPT_DISK]: null } };

/** The kept disk that a claim with this metadata is; null where it is none, or is not as drover marks them. */
export function keptDiskOf({ labels, annotations }: Marked): KeptDisk | null {
  const text = annotations?.[KEPT_DISK];
  const kept = text === undefined ? null : parsed(text);
  if (!isObject(kept) || labels?.[KEPT_DISK] !== kept['poolUid']) return null;
  const { pool, poolUid, number, disk, revision, identity, size, keptBy, keptAt } = kept;
  const isWhole =
    [pool, poolUid, disk, identity, keptAt].every((one) => typeof one === 'string') &&
    [revision, size].every((one) => one === null || typeof one === 'string') &&
    Number.isSafeInteger(number) &&
    (keptBy === 'scale-in' || keptBy === 'healing');
  return isWhole ? ({ pool, poolUid, number, disk, revision, identity, size, keptBy, keptAt } as KeptDisk) : null;
}

/** True for the metadata of a claim that was kept for the VM of this number of the pool of this UID. */
export function isKeptFor(metadata: Marked, poolUid: string, number: number): boolean {
  const kept = keptDiskOf(metadata);
  return kept !== null && kept.poolUid === poolUid && kept.number === number;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
