import { formatNames } from '../../decisions/lib/names.ts';
import { printViews } from '../cli/live.ts';
import { printNote, table, type DataFormat } from '../cli/print.ts';
import { poolsOf } from '../pool/named-pools.ts';
import type { Work } from '../session/session.ts';
import { readDrift, type PoolDrift } from './read.ts';

/** Longer values are cut: `-o json` has them whole. */
const LONGEST_VALUE = 60;

/** Prints what users have changed in the VMs of pools. */
export const printDrift: Work<{ output?: DataFormat }> = async (session, { output }, ...args) => {
  const pools = await poolsOf(session, args);
  if (pools.length === 0) return printNote(`No resources found in ${await session.namespace()} namespace.`);
  const kube = await session.kube();
  const found: PoolDrift[] = [];
  for (const pool of pools) found.push(await readDrift(kube, pool));
  const titleOf = ({ pool }: PoolDrift): string[] => (found.length > 1 ? [`pool ${pool}`] : []);
  await printViews(found, { output, blockOf: (one) => [...titleOf(one), ...driftLines(one)] });
};

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
