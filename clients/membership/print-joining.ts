import { formatNames } from '../../decisions/lib/names.ts';
import type { Joining } from '../../decisions/membership/joining.ts';
import { print, table } from '../cli/print.ts';

/** How many fields a line names. */
const MAX_FIELDS = 6;

/** Prints how VMs compare with the pool's template, a line each. */
export function printJoining(vms: readonly { name: string; joining: Joining }[]): void {
  const rows = vms.map(({ name, joining }) => [name, FATES[joining.fate], fieldsOf(joining)]);
  print(table(['VM', 'WOULD BE', 'DIFFERS IN'], rows));
}

const FATES: Record<Joining['fate'], string> = {
  unchanged: 'left as it is',
  updated: 'updated by the next rollout',
  restarted: 'restarted by the next rollout',
};

function fieldsOf({ fit: { differs, vmiDiffers, metadata, vmiMetadata } }: Joining): string {
  const added = [
    ...Object.keys({ ...metadata.labels, ...vmiMetadata.labels }).map((key) => `label ${key}`),
    ...Object.keys({ ...metadata.annotations, ...vmiMetadata.annotations }).map((key) => `annotation ${key}`),
  ];
  const fields = [...new Set([...differs, ...vmiDiffers.map((path) => `the VMI's ${path}`), ...added])];
  if (fields.length === 0) return '-';
  const more = fields.length - MAX_FIELDS;
  return fields.slice(0, MAX_FIELDS).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Returns the remark on VMs whose names the pool would not give; undefined if there are none. */
export function otherNames(pool: string, vms: readonly { name: string; joining: Joining }[]): string | undefined {
  const others = vms.filter(({ joining }) => !joining.isNamed).map(({ name }) => name);
  return others.length === 0
    ? undefined
    : `${formatNames(others)}: not named as pool ${pool} names its VMs, so no update touches ${others.length === 1 ? 'it' : 'them'}`;
}
