import { formatNames } from '../../decisions/lib/names.ts';
import { table } from '../cli/print.ts';
import type { PoolDrift } from './read.ts';

/** Longer values are cut: `-o json` has them whole. */
const LONGEST_VALUE = 60;

/** Describes the drift of a pool: a line for each field. */
export function driftLines({ vms, unknown }: PoolDrift): string[] {
  const rows = vms.flatMap(({ vm, revision, fields, toBeCorrected }) =>
    fields.map(({ path, wanted, actual }) => [
      vm,
      revision,
      path,
      valueOf(wanted),
      valueOf(actual),
      toBeCorrected ? 'True' : 'False',
    ]),
  );
  return [
    ...(rows.length === 0
      ? ['all VMs that can be compared match their templates']
      : table(['VM', 'REVISION', 'FIELD', 'WANTED', 'ACTUAL', 'BEING CORRECTED'], rows)),
    ...(unknown.length === 0
      ? []
      : [`can't be compared, since the template of their revision is not known: ${formatNames(unknown)}`]),
  ];
}

function valueOf(value: unknown): string {
  if (value === null) return '<none>';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > LONGEST_VALUE ? `${line.slice(0, LONGEST_VALUE - 1)}…` : line;
}
