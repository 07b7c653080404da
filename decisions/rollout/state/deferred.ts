import { backoffMs } from '../../lib/backoff.ts';
import type { UpdateOutcome } from '../../owners/batch.ts';

/** A VM that a batch has given back for a reason of its own: it is tried again later, and holds up no other VM. */
export interface DeferredVm {
  vm: string;
  /** The revision that it was to take. */
  revision: string;
  message: string;
  /** How often in a row it was given back. */
  tries: number;
  /** It is not taken again earlier; milliseconds since the epoch. */
  notBefore: number;
}

/** Goes with every plan: the others are tried again without a delay of their own. */
const MAX_DEFERRED = 1_000;

/** Returns the VMs that are deferred after a batch to `revision` has ended so. */
export function deferredAfter(
  before: readonly DeferredVm[],
  { revision, outcomes }: { revision: string; outcomes: readonly UpdateOutcome[] },
  now: number,
): DeferredVm[] {
  const known = new Map(before.filter((one) => one.revision === revision).map((one) => [one.vm, one]));
  for (const { vm, end, message = '', isOwn } of outcomes) {
    const tries = (known.get(vm)?.tries ?? 0) + 1;
    known.delete(vm);
    if (end === 'Deferred' && isOwn === true)
      known.set(vm, { vm, revision, message, tries, notBefore: now + backoffMs(tries) });
  }
  return [...known.values()].slice(-MAX_DEFERRED);
}
