/**
 * Limits the size of a run over many VMs. Its state passes from run to run in one payload, with the VMs that were
 * chosen; Temporal limits a payload to 2 MiB.
 */
const MOST_BYTES = 2 * 1024 * 1024;

/** Most VMs of one run. */
export const MAX_VMS = 100_000;

/** What a chosen VM takes: ten bytes in base64, and whether it has ended. */
const CHOSEN_BYTES = 13.5;

/** Most bytes of the VMs in progress. */
const IN_PROGRESS_BYTES = 250_000;

/** JSON around the name of one of them. */
const ONE_IN_PROGRESS = JSON.stringify({ vm: '', since: 1_700_000_000_000 }).length + 1;

/** For everything else: what VMs wait for, failures, who asked. */
const OTHER_BYTES = 350_000;

/** How many bytes the records of a run over so many VMs may take in addition to its state. */
export const bytesOfRecords = (vms: number): number =>
  MOST_BYTES - IN_PROGRESS_BYTES - OTHER_BYTES - CHOSEN_BYTES * vms;

/** Returns the first of these VMs that may be in progress beside the busy ones. */
export function fitting<T extends { name: string }>(vms: readonly T[], busy: Iterable<string>): T[] {
  let bytes = IN_PROGRESS_BYTES;
  const fits = (name: string): boolean => (bytes -= ONE_IN_PROGRESS + name.length) >= 0;
  for (const name of busy) fits(name);
  const end = vms.findIndex(({ name }) => !fits(name));
  return end === -1 ? [...vms] : vms.slice(0, end);
}
