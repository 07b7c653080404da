import { scaleInRules } from '../../api/pool-defaults.ts';
import type { Condition } from '../../api/pool/pool.ts';
import { formatNames } from '../lib/names.ts';
import { sameAmount } from '../lib/quantity.ts';
import { withTime } from '../pool/conditions.ts';
import type { PoolTemplate } from '../pool/template.ts';
import { vmName } from '../pool/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import { diskIdentity, diskTemplates, sizeOf } from './disk-template.ts';
import type { KeptDisk } from './kept-disk.ts';

/** A kept disk, and the claim that it is. */
export interface KeptClaim {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** It is going: nobody can have it any more, and its name is not free yet. */
  deleting: boolean;
  kept: KeptDisk;
}

/** What the next VM of a number does with the disks that are kept for it. */
export type Reuse =
  | { reuse: 'none' }
  /** It begins with the revision that they are of, and the rollout goes on from there. */
  | { reuse: 'as-they-are'; revision: string }
  /** It waits until they are gone, for the pool keeps none any more, or they are going; these are to be deleted. */
  | { reuse: 'discard'; claims: KeptClaim[] }
  /** Nobody knows any more what they were made from. */
  | { reuse: 'unknown'; claims: KeptClaim[] };

/** True where a kept disk is what this template would make. */
export function fits(kept: KeptDisk, { spec }: PoolTemplate): boolean {
  const template = diskTemplates(spec).get(kept.disk);
  if (template === undefined) return true;
  const size = sizeOf(template);
  return (
    kept.identity === diskIdentity(template) && (size === null || kept.size === null || sameAmount(kept.size, size))
  );
}

/** `revision`: that a VM of this number would be of without them. */
export function reuseOf(
  pool: StoredPool,
  claims: readonly KeptClaim[],
  revision: string,
  templateOf: (revision: string) => PoolTemplate | undefined,
): Reuse {
  const rules = scaleInRules(pool.spec.scaleInStrategy);
  // What healing has left comes back whatever becomes of disks at a scale-in.
  const discarded =
    rules.kind !== 'unmanaged' && rules.statePreservation === 'Disabled'
      ? claims.filter(({ kept }) => kept.keptBy === 'scale-in')
      : [];
  if (discarded.length > 0 || claims.some(({ deleting }) => deleting))
    return { reuse: 'discard', claims: discarded.filter(({ deleting }) => !deleting) };
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

/** The kept disks of a pool by the numbers that have no VM: of another VM's that is there the mark says nothing. */
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
 * `DisksKept`: disks wait for the next VMs of their numbers, and which of them are not as the template would make them.
 */
export function keptCondition(
  pool: StoredPool,
  byNumber: ReadonlyMap<number, readonly KeptClaim[]>,
  newest: PoolTemplate,
  now: string,
): Condition[] {
  if (byNumber.size === 0) return [];
  const nameOf = (number: number): string => (number === 0 ? 'other VMs' : vmName(pool.metadata.name, number));
  const names = (numbers: number[]): string => formatNames(numbers.map(nameOf));
  const older = [...byNumber]
    .filter(([, claims]) => claims.some(({ kept }) => !fits(kept, newest)))
    .map(([number]) => number);
  const words = [`the disks of ${names([...byNumber.keys()])} are kept`];
  if (older.length > 0)
    words.push(
      `those of ${names(older)} are not as the template makes them: a VM that takes them begins with the template that they were made from`,
    );
  return [
    withTime(
      pool,
      {
        type: 'DisksKept',
        status: 'True',
        reason: older.length > 0 ? 'OfOlderTemplate' : 'Kept',
        message: words.join('; '),
      },
      now,
    ),
  ];
}
