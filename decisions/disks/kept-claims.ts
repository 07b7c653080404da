import { scaleInRules } from '../../api/rules/pool-defaults.ts';
import { formatNames } from '../lib/names.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import { diskTemplates, isSameDisk, type DiskTemplate } from '../template/disk-template.ts';
import { NO_NUMBER, type KeptClaim, type KeptDisk } from '../template/kept-disk.ts';
import type { PoolTemplate } from '../template/template.ts';
import { ofNoRevision, type NewMember } from '../template/vm-from-template.ts';
import { vmName } from '../template/vm-names.ts';
import { withFirmware } from '../template/vm-state.ts';
import type { StoredPool } from '../views/pool.ts';
import { templateOfKept } from './kept-volumes.ts';

/** What the next VM of a number does with the disks kept for it. */
type Reuse =
  | { reuse: 'none' }
  /** The VM starts at the revision of the disks, and the rollout continues from there. */
  | { reuse: 'as-they-are'; revision: string }
  /** The template of that revision is not kept: the VM's disks have the templates of the newest one. */
  | { reuse: 'own-templates' }
  /** The pool no longer keeps any: the VM waits until these are deleted. */
  | { reuse: 'deleteKeptDisks'; claims: KeptClaim[] };

/** True if a kept disk is what this template would create. */
function fits(claim: Pick<KeptClaim, 'name' | 'kept'>, { spec }: PoolTemplate): boolean {
  const [template, made] = [templateOfKept(claim, spec), claim.kept.template];
  return template === undefined || made === null || isSameDisk(made, template);
}

/**
 * Returns the VM with the disk templates that its kept disks were made from, in the place of those of its pool that
 * would make other disks, and with the firmware by which guests know the machine. A VM with another disk template is of
 * no revision: the next rollout brings it to one.
 * `kept`: by the names of the disks.
 */
export function withKeptTemplates<Vm extends NewMember>(vm: Vm, kept: ReadonlyMap<string, KeptDisk>): Vm {
  const own = new Map(
    [...diskTemplates(vm.spec)].flatMap(([name, template]): [string, DiskTemplate][] => {
      const other = kept.get(name)?.template ?? null;
      return other === null || isSameDisk(other, template)
        ? []
        : [[name, { ...other, metadata: template['metadata'] }]];
    }),
  );
  const [firmware = {}] = [...kept.values()].map((one) => one.firmware);
  if (own.size === 0 && Object.keys(firmware).length === 0) return vm;
  const changed = { ...vm, spec: withFirmware(vm.spec, firmware) };
  if (own.size === 0) return changed;
  const other = ofNoRevision(changed);
  other.spec['dataVolumeTemplates'] = [...diskTemplates(vm.spec)].map(([name, one]) => own.get(name) ?? one);
  return other;
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
  const going = claims.filter(({ kept, deleting }) => !deleting && isDiscarded(pool, kept));
  if (going.length > 0) return { reuse: 'deleteKeptDisks', claims: going };
  // The creation of a VM is refused for as long as one of its disks is terminating.
  const staying = claims.filter(({ deleting }) => !deleting);
  const template = templateOf(revision);
  const others = template === undefined ? [] : staying.filter((claim) => !fits(claim, template));
  if (others.length === 0) return { reuse: 'none' };
  const [older] = others
    .map(({ kept }) => kept.revision)
    .filter((one) => one !== null && templateOf(one) !== undefined);
  return older === undefined || older === null ? { reuse: 'own-templates' } : { reuse: 'as-they-are', revision: older };
}

/** The kept disks of a pool, by number, without the numbers that have a VM: there the mark says nothing. */
export const keptByNumber = (
  pool: StoredPool,
  claims: readonly KeptClaim[],
  isTaken: (name: string) => boolean,
): Map<number, KeptClaim[]> =>
  Map.groupBy(
    claims.filter(({ kept }) => !isTaken(vmName(pool.metadata.name, kept.number))),
    ({ kept }) => kept.number,
  );

/**
 * `DisksKept`: disks are kept for the next VMs of their numbers; the message says which differ from what the template
 * would create.
 */
export function keptCondition(
  pool: StoredPool,
  byNumber: ReadonlyMap<number, readonly KeptClaim[]>,
  newest: PoolTemplate,
): UntimedCondition[] {
  if (byNumber.size === 0) return [];
  const nameOf = (number: number): string => (number === NO_NUMBER ? 'other VMs' : vmName(pool.metadata.name, number));
  const names = (numbers: number[]): string => formatNames(numbers.map(nameOf));
  const older = [...byNumber]
    .filter(([, claims]) => claims.some((claim) => !fits(claim, newest)))
    .map(([number]) => number);
  const parts = [`the disks of ${names([...byNumber.keys()])} are kept`];
  if (older.length > 0)
    parts.push(
      `those of ${names(older)} are not as the template makes them: a VM that reuses them starts with the template that they were created from`,
    );
  const reason = older.length > 0 ? 'OutdatedTemplate' : 'Kept';
  return [{ type: 'DisksKept', status: 'True', reason, message: parts.join('; ') }];
}
