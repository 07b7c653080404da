import { field, type Json } from '../lib/json.ts';
import { diskTemplates, isSameDisk, type DiskTemplate } from '../template/disk-template.ts';
import type { KeptDisk } from '../template/kept-disk.ts';
import { diskReferences, isNamed, volumesOf } from '../template/references.ts';
import { ofNoRevision, type NewMember } from '../template/vm-from-template.ts';

/** What a kept disk of a VM is known by. */
interface DiskOfVm {
  /** As `KeptDisk.disk`. */
  disk: string;
  /** As `KeptDisk.volume`. */
  volume: string | null;
}

/**
 * Returns by what the disk with this claim is known that a VM leaves behind. A restore gives disks new names,
 * such as `restore-<uid>-<volume>` or `<vm>-<volume>` (KubeVirt's `restoreVolumeName`), and so does who moves them to
 * other storage: then the volume alone tells which disk of the template it stands for.
 */
export function diskOfVm(claim: string, vm: { name: string; number: number | null; spec: unknown }): DiskOfVm {
  const volume = volumeOf(claim, vm.spec);
  const end = `-${vm.number}`;
  const isRestored = claim === `${vm.name}-${volume}` || RESTORED.test(claim);
  return { disk: !isRestored && claim.endsWith(end) ? claim.slice(0, -end.length) : claim, volume };
}

const RESTORED = /^restore-[0-9a-f]{8}-[0-9a-f-]{27}-/;

function volumeOf(claim: string, spec: unknown): string | null {
  const volume = volumesOf(spec).find((one) => claimOf(one) === claim);
  return typeof volume?.['name'] === 'string' ? volume['name'] : null;
}

const claimOf = (volume: Json): string | null => {
  const [reference] = diskReferences(volume).filter(isNamed);
  return reference === undefined ? null : ((reference[0] as Json)[reference[1]] as string);
};

/**
 * Returns the disk template in whose place the kept disk is: the one of its name; or, for a disk that no template has
 * named, the one of the volume by which its VM used it. Undefined if there is none.
 */
export function templateOfKept(
  { name, kept }: { name: string; kept: KeptDisk },
  spec: object,
): DiskTemplate | undefined {
  const templates = diskTemplates(spec);
  if (kept.disk !== name) return templates.get(kept.disk);
  const volume = volumesOf(spec).find((one) => one['name'] === kept.volume);
  return templates.get((volume && claimOf(volume)) ?? kept.disk);
}

/**
 * Returns the VM with the disks that were kept for it under names that its template does not give, each in the place of
 * the disk that its template has for that volume: they hold what its guest had, and the disk of the template would be
 * a new one. A VM with another disk template is of no revision: the next rollout brings it to one.
 * `kept`: by the names of their claims, those of the VM's number.
 */
export function withKeptVolumes<Vm extends NewMember>(vm: Vm, kept: ReadonlyMap<string, KeptDisk>): Vm {
  const renamed = latest([...kept].filter(([name, { disk }]) => name === disk));
  const templates = diskTemplates(vm.spec);
  const replacements = volumesOf(vm.spec).flatMap((volume): [string, string, KeptDisk][] => {
    const [now, found] = [claimOf(volume), renamed.get(volume['name'])];
    // The disk of the template's own name is there, too, and was the VM's later.
    if (now === null || !templates.has(now) || found === undefined) return [];
    const rival = kept.get(now);
    return rival !== undefined && rival.keptAt > found.kept.keptAt ? [] : [[now, found.name, found.kept]];
  });
  return replacements.reduce((changed, [now, name, disk]) => withReplacedDisk(changed, now, name, disk), vm);
}

/** Returns the disks that were kept last, by the names of their volumes. */
function latest(kept: readonly [string, KeptDisk][]): Map<unknown, { name: string; kept: KeptDisk }> {
  const found = new Map<unknown, { name: string; kept: KeptDisk }>();
  for (const [name, one] of kept) {
    const other = found.get(one.volume);
    if (one.volume !== null && (other === undefined || other.kept.keptAt < one.keptAt))
      found.set(one.volume, { name, kept: one });
  }
  return found;
}

function withReplacedDisk<Vm extends NewMember>(vm: Vm, disk: string, name: string, { template }: KeptDisk): Vm {
  const isOther = template !== null && !isSameDisk(template, diskTemplates(vm.spec).get(disk)!);
  const changed = isOther ? ofNoRevision(vm) : structuredClone(vm);
  const { spec } = changed;
  const vmi = field(spec, 'template', 'spec') as Json;
  vmi['volumes'] = volumesOf(spec).map((volume) =>
    claimOf(volume) !== disk
      ? volume
      : {
          name: volume['name'],
          ...(template === null ? { persistentVolumeClaim: { claimName: name } } : { dataVolume: { name } }),
        },
  );
  spec['dataVolumeTemplates'] = [...diskTemplates(spec)].flatMap(([each, one]) => {
    if (each !== disk) return [one];
    return template === null ? [] : [template];
  });
  return changed;
}
