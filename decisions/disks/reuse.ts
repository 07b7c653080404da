import { formatNames } from '../lib/names.ts';
import type { Creation, PoolStep } from '../owners/steps.ts';
import type { KeptClaim } from '../template/kept-disk.ts';
import type { PoolTemplate } from '../template/template.ts';
import { vmName } from '../template/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { reuseOf } from './kept-claims.ts';

interface ReuseInput {
  pool: StoredPool;
  kept: ReadonlyMap<number, KeptClaim[]>;
  /** Revision of new VMs without kept disks. */
  revision: string;
  templateOf: (revision: string) => PoolTemplate | undefined;
}

/**
 * Turns a create step into steps that respect kept disks: a VM never starts with a template that does not match its
 * disks. Numbers whose disks must be deleted first are created in a later turn.
 */
export function stepsWithReuse(
  { numbers, role, most, reason }: Creation,
  { pool, kept, revision, templateOf }: ReuseInput,
): PoolStep[] {
  const byRevision = new Map<string, number[]>();
  const going: KeptClaim[] = [];
  const own: number[] = [];
  for (const number of numbers) {
    const reuse = reuseOf(pool, kept.get(number) ?? [], revision, templateOf);
    if (reuse.reuse === 'deleteKeptDisks') {
      going.push(...reuse.claims);
      continue;
    }
    if (reuse.reuse === 'own-templates') own.push(number);
    const of = reuse.reuse === 'as-they-are' ? reuse.revision : revision;
    byRevision.set(of, [...(byRevision.get(of) ?? []), number]);
  }
  const vmsOf = (which: number[]): string => formatNames(which.map((number) => vmName(pool.metadata.name, number)));
  const steps = [...byRevision].map(([of, some]): PoolStep => {
    const others = own.length === 0 ? '' : `; ${vmsOf(own)} with kept disks, as those were made`;
    const older = of === revision ? others : `; ${vmsOf(some)} with kept disks of revision ${of}`;
    return {
      kind: 'create',
      numbers: some,
      revision: of,
      ...(role === undefined ? {} : { role }),
      ...(most === undefined ? {} : { most }),
      reason: `${reason}${older}`,
    };
  });
  if (going.length === 0) return steps;
  const names = formatNames(going.map(({ name }) => name));
  return [
    ...steps,
    {
      kind: 'deleteKeptDisks',
      claims: going.map(({ name, uid, kept: { number } }) => ({ name, uid, vm: vmName(pool.metadata.name, number) })),
      ...(role === undefined ? {} : { role }),
      reason: `delete kept disks ${names}: the pool no longer keeps disks, and their VMs come back`,
    },
  ];
}

/**
 * Removes marks that have served their purpose: the VM of the number exists, stays, and uses the disk. A disk that its
 * template no longer has stays kept, for nothing else would tell whose it is.
 * `stayingOn`: returns the VM of this name, unless it is about to leave.
 */
export function unlabelStep(
  pool: StoredPool,
  claims: readonly KeptClaim[],
  stayingOn: (name: string) => Pick<VmView, 'disks'> | undefined,
): PoolStep[] {
  const used = claims.filter(({ name, kept, isOfState }) => {
    const vm = stayingOn(vmName(pool.metadata.name, kept.number));
    return vm !== undefined && (isOfState || vm.disks.includes(name));
  });
  if (used.length === 0) return [];
  const claimed = used.slice(0, MAX_DISKS).map(({ name, uid, resourceVersion }) => ({ name, uid, resourceVersion }));
  return [{ kind: 'unlabelKeptDisks', claims: claimed, reason: `${claimed.length} kept disks are in use again` }];
}

const MAX_DISKS = 250;
