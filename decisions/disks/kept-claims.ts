import { scaleInRules } from '../../api/pool-defaults.ts';
import type { Condition } from '../../api/pool/pool.ts';
import { formatNames } from '../lib/names.ts';
import { sameAmount } from '../lib/quantity.ts';
import { vmName } from '../scaling/vm-names.ts';
import { withTime } from '../status/conditions.ts';
import type { PoolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import { diskIdentity, diskTemplates, sizeOf } from './disk-template.ts';
import { NO_NUMBER, type KeptDisk } from './kept-disk.ts';

/** The claim of a kept disk. */
export interface KeptClaim {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** The claim is terminating: no VM can use it any more, and its name is not free yet. */
  deleting: boolean;
  kept: KeptDisk;
}

/** What the next VM of a number does with the disks kept for it. */
export type Reuse =
  | { reuse: 'none' }
  /** The VM starts at the revision of the disks, and the rollout continues from there. */
  | { reuse: 'as-they-are'; revision: string }
  /**
   * The VM waits until the disks are deleted, because the pool no longer keeps any, or they are already terminating;
   * `claims` are to be deleted.
   */
  | { reuse: 'deleteKeptDisks'; claims: KeptClaim[] }
  /** The template from which the disks were made is unknown. */
  | { reuse: 'unknown'; claims: KeptClaim[] };

/** True if a kept disk is what this template would create. */
export function fits(kept: KeptDisk, { spec }: PoolTemplate): boolean {
  const template = diskTemplates(spec).get(kept.disk);
  if (template === undefined) return true;
  const size = sizeOf(template);
  return (
    kept.identity === diskIdentity(template) && (size === null || kept.size === null || sameAmount(kept.size, size))
  );
}

/**
 * Reports whether the pool keeps such a disk no more, once its VM comes back. One that healing has kept is reused,
 * whatever happens to disks at a scale-in.
 */
export function isDiscarded({ spec }: StoredPool, { keptBy }: KeptDisk): boolean {
  const rules = scaleInRules(spec.scaleInStrategy);
  return rules.kind !== 'unmanaged' && rules.statePreservation === 'Disabled' && keptBy === 'scale-in';
}

/** `revision`: that of a VM of this number without kept disks. */
export function reuseOf(
  pool: StoredPool,
  claims: readonly KeptClaim[],
  revision: string,
  templateOf: (revision: string) => PoolTemplate | undefined,
): Reuse {
  const discarded = claims.filter(({ kept }) => isDiscarded(pool, kept));
  if (discarded.length > 0 || claims.some(({ deleting }) => deleting))
    return { reuse: 'deleteKeptDisks', claims: discarded.filter(({ deleting }) => !deleting) };
  const template = templateOf(revision);
  const others = template === undefined ? [] : claims.filter(({ kept }) => !fits(kept, template));
  if (others.length === 0) return { reuse: 'none' };
  const [older] = others
    .map(({ kept }) => kept.revision)
    .filter((one) => one !== null && templateOf(one) !== undefined);
  return older === undefined || older === null
    ? { reuse: 'unknown', claims: others }
    : { reuse: 'as-they-are', revision: older };
}

/** The kept disks of a pool, by number, without the numbers that have a VM: there the mark says nothing. */
export function keptByNumber(
  pool: StoredPool,
  claims: readonly KeptClaim[],
  isTaken: (name: string) => boolean,
): Map<number, KeptClaim[]> {
  const byNumber = new Map<number, KeptClaim[]>();
  for (const claim of claims) {
    const { number } = claim.kept;
    if (!isTaken(vmName(pool.metadata.name, number))) byNumber.set(number, [...(byNumber.get(number) ?? []), claim]);
  }
  return byNumber;
}

/**
 * `DisksKept`: disks are kept for the next VMs of their numbers; the message says which differ from what the template
 * would create.
 */
export function keptCondition(
  pool: StoredPool,
  byNumber: ReadonlyMap<number, readonly KeptClaim[]>,
  newest: PoolTemplate,
  now: string,
): Condition[] {
  if (byNumber.size === 0) return [];
  const nameOf = (number: number): string => (number === NO_NUMBER ? 'other VMs' : vmName(pool.metadata.name, number));
  const names = (numbers: number[]): string => formatNames(numbers.map(nameOf));
  const older = [...byNumber]
    .filter(([, claims]) => claims.some(({ kept }) => !fits(kept, newest)))
    .map(([number]) => number);
  const words = [`the disks of ${names([...byNumber.keys()])} are kept`];
  if (older.length > 0)
    words.push(
      `those of ${names(older)} are not as the template makes them: a VM that reuses them starts with the template that they were created from`,
    );
  return [
    withTime(
      pool,
      {
        type: 'DisksKept',
        status: 'True',
        reason: older.length > 0 ? 'OutdatedTemplate' : 'Kept',
        message: words.join('; '),
      },
      now,
    ),
  ];
}
