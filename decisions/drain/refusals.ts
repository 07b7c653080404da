import { doubling } from '../lib/backoff.ts';

/** An act that was refused, so that nothing in the cluster shows it. */
export interface RefusedEvacuation {
  vm: string;
  /** UID of the VMI. */
  uid: string;
  message: string;
  /** Since when the API server has refused it in a row, null if it has not; and how often it has. */
  since: number | null;
  times: number;
  /** Before when it is not tried again. These times are milliseconds since the epoch. */
  notBefore: number;
}

/** A VM that drover could not begin to move. */
export interface NotMoved {
  vm: string;
  /** UID of the VMI. */
  uid: string;
  /**
   * The budget had no room; another client migrates it, or is about to; KubeVirt does not begin its migration; or the
   * API server refused it.
   */
  reason: 'NoClaim' | 'OtherMigration' | 'NotBegun' | 'Refused';
  message: string;
}

/** How long to wait with a VM for which a claim found no room although the plan had seen some. */
const BUDGET_FULL_MS = 2_000;
/** How long to wait with a VM that another client is about to migrate. */
const OTHER_MIGRATION_MS = 10_000;

const MAX_MESSAGE_LENGTH = 300;

/**
 * Migrations no longer count, and neither do refusals, if nothing has followed them for this time, twice the longest
 * delay: they were for an earlier drain, or something held the VM that has nothing to do with migrations.
 */
export const FORGOTTEN_MS = 600_000;

/** How long to wait after this many failures in a row, in milliseconds. */
export const delayAfter = doubling(10_000, 300_000);

/** Returns what is known to be refused after these VMs were tried: no more than there is a place for (`planDrain`). */
export function refusalsAfter(
  before: readonly RefusedEvacuation[],
  { tried, notMoved }: { tried: readonly string[]; notMoved: readonly NotMoved[] },
  now: number,
): RefusedEvacuation[] {
  const known = new Map(before.map((refusal) => [refusal.uid, refusal]));
  const names = new Set(tried);
  const others = before.filter(({ vm, notBefore }) => !names.has(vm) && notBefore + FORGOTTEN_MS > now);
  return [...others, ...notMoved.map((one) => refusalOf(one, known.get(one.uid), now))];
}

function refusalOf(
  { vm, uid, reason, message }: NotMoved,
  { since = null, times = 0 }: Partial<RefusedEvacuation> = {},
  now: number,
): RefusedEvacuation {
  const base = { vm, uid, message: message.slice(0, MAX_MESSAGE_LENGTH) };
  switch (reason) {
    case 'NoClaim':
      return { ...base, since, times, notBefore: now + BUDGET_FULL_MS };
    case 'NotBegun':
    case 'OtherMigration':
      // Whatever was refused until now may have been so because of that one: no deadline begins by it.
      return { ...base, since: null, times: 0, notBefore: now + OTHER_MIGRATION_MS };
    case 'Refused':
      return { ...base, since: since ?? now, times: times + 1, notBefore: now + delayAfter(times + 1) };
  }
}
