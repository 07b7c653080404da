import { CAPS } from '../../../api/lib/caps.ts';
import { backoffMs } from '../../lib/backoff.ts';
import type { Batch, UpdateOutcome } from '../../owners/batch.ts';

/** A VM that a batch has given back for a reason of this VM's: it is tried again later, and holds up no other VM. */
export interface DeferredVm {
  vm: string;
  /** The revision that it was to take. */
  revision: string;
  message: string;
  /** How often in a row it was given back, or corrected. */
  tries: number;
  /** It is not taken again earlier; milliseconds since the epoch. */
  notBefore: number;
  /** Its drift was corrected: what drifts at once again is corrected later, and later each time. */
  corrected?: true;
}

/** For how long a correction is remembered: another client that takes it back does so within moments. */
const REMEMBERED_MS = 5 * 60_000;

type Ended = Pick<Batch, 'revision' | 'vms'> & { outcomes: readonly UpdateOutcome[] };

/**
 * Returns the VMs that are deferred after a batch to `revision` has ended so. If they are too many to be remembered, no
 * batch begins before `notBefore`: it is not known which VMs must wait. Times are milliseconds since the epoch.
 */
export function deferredAfter(
  before: readonly DeferredVm[],
  { revision, vms, outcomes }: Ended,
  now: number,
): { deferred: DeferredVm[]; notBefore: number } {
  const known = new Map(
    stillDeferred(before, now).flatMap((one) => (one.revision === revision ? [[one.vm, one] as const] : [])),
  );
  const corrected = new Set(vms.filter(({ setsRight }) => setsRight === true).map(({ name }) => name));
  for (const { vm, end, message = '', isOwn } of outcomes) {
    const tries = (known.get(vm)?.tries ?? 0) + 1;
    known.delete(vm);
    const next = { vm, revision, tries, notBefore: now + backoffMs(tries) };
    if (end === 'Deferred' && isOwn === true) known.set(vm, { ...next, message });
    else if (end === 'Updated' && corrected.has(vm))
      known.set(vm, { ...next, corrected: true, message: `${RESTORED} ${tries === 1 ? 'once' : `${tries} times`}` });
  }
  const all = [...known.values()];
  if (all.length <= CAPS.deferred) return { deferred: all, notBefore: 0 };
  const deferred = all.toSorted((a, b) => b.tries - a.tries).slice(0, CAPS.deferred);
  return { deferred, notBefore: Math.max(...all.map(({ notBefore }) => notBefore)) };
}

const RESTORED = 'something else reverts what drover corrects in it, and has done so';

/** Returns those that still matter: nothing has taken the other corrections back. */
export const stillDeferred = (all: readonly DeferredVm[], now: number): DeferredVm[] =>
  all.filter(({ corrected, notBefore }) => corrected !== true || now < notBefore + REMEMBERED_MS);
