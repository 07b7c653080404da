import type { FailedVm } from '../runs/progress.ts';

/**
 * Limits the size of a run over many VMs. Its state passes from run to run in one payload, and its answer to
 * `progress` is one payload too; Temporal limits a payload to 2 MiB. Most of it is names, which are known at the start.
 */

/** Most bytes that the names may take in JSON. The rest of the 2 MiB is for everything else. */
export const MAX_BYTES = 1_800_000;

/** JSON around the name of a failed VM: the longest of all outcomes. */
const FAILED = JSON.stringify({ vm: '', message: '', wasDown: true } satisfies FailedVm).length + 1;

/** Returns how many bytes the VMs' names take: once with UIDs, and once with the VMs' outcomes. */
export function bytesOfNames(vmis: Readonly<Record<string, Readonly<Record<string, string>>>>): number {
  let bytes = JSON.stringify(vmis).length;
  for (const [namespace, byName] of Object.entries(vmis))
    for (const name of Object.keys(byName)) bytes += namespace.length + 1 + name.length + FAILED;
  return bytes;
}

/** How many bytes the records of a run over these VMs may take in addition to its state. */
export const bytesOfRecords = (chosen: Parameters<typeof bytesOfNames>[0]): number =>
  MAX_BYTES + RECORDS_LEAST - bytesOfNames(chosen);

const RECORDS_LEAST = 100_000;
