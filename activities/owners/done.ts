import { ApplicationFailure } from '@temporalio/common';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { MemberRole } from '../../decisions/views/vm.ts';
import { isRefusal } from '../../kubernetes/errors.ts';

export interface Refused {
  reason: string;
  message: string;
  /** Names of the refused VMs; others may have been given up because of them. */
  names?: string[];
  /** Whether the refusal concerns all VMs, as a full quota does, or looks as if it did. */
  isGeneral?: boolean;
}

/** What an activity has done to VMs. */
export interface Done {
  count: number;
  /** Names that turned out to belong to VMs that are not the pool's. */
  nameConflicts: string[];
  /** Names of VMs for which the pool no longer wanted the act when checked again. */
  notWanted: string[];
  /** Why the API server refused the rest: quota, permission, an invalid template. */
  refused: Refused | null;
  minVersions: ResourceVersions;
}

export const nothingDone: Done = { count: 0, nameConflicts: [], notWanted: [], refused: null, minVersions: {} };

/** Resolves to what was done, or to why the API server refuses it; `what`: how to say that it is not done. */
export async function doneOrRefused(what: string, act: Promise<Pick<Done, 'count' | 'minVersions'>>): Promise<Done> {
  try {
    return { ...nothingDone, ...(await act) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { ...nothingDone, refused: { reason: error.reason, message: `${what}: ${error.message}` } };
  }
}

export interface CreateOptions {
  /** Generation of the pool's spec when this was planned; absent if the VMs take the places of others. */
  generation?: number;
  skipSlowStart?: boolean;
  halted?: number[];
  /** Of VMs that are to be none of the pool's replicas. */
  role?: MemberRole | null;
  /** How many of this role the pool is to have with them, if those are more than its spec wants. */
  most?: number;
  /** Until when a refusal has the activity tried again, in milliseconds since the epoch; absent: it is the result. */
  retryUntil?: number;
}

/** How long after a refusal the activity is tried again. */
const AGAIN_MS = 10_000;

/** Throws a refusal that may pass in time: Temporal tries again, which a history does not grow by. */
export function retryRefused({ refused }: Done, { retryUntil = 0 }: CreateOptions, now: number): void {
  if (refused !== null && now + AGAIN_MS <= retryUntil)
    throw ApplicationFailure.create({ type: refused.reason, message: refused.message, nextRetryDelay: AGAIN_MS });
}
