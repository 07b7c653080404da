import type { VmiOf } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import type { VmView } from '../views/vm.ts';
import { allowanceOf } from './failures.ts';
import type { PlanInput } from './plan-input.ts';

/** A member that takes longer to go holds up no other: its guest, a finalizer or KubeVirt may never let it go. */
export const BLOCKS_FOR_MS = 120_000;

/** A member that was asked to go and is still there. */
export interface Leaving {
  name: string;
  /** Since when, in milliseconds since the epoch; null if unknown. */
  since: number | null;
  /** Its node does not answer, so that nothing can end there. */
  isLost: boolean;
}

/** The VMs of a pool that are terminating, or that were halted to leave. */
export const leavingVms = (vms: readonly VmView[], vmiOf: VmiOf): Leaving[] =>
  vms
    .filter(({ deleting, removing }) => deleting || removing)
    .map((vm) => ({ name: vm.name, since: vm.leavingSince, isLost: vmiOf(vm)?.nodeLost === true }));

/** Until when a leaving member holds the place of another, in milliseconds since the epoch; null if it holds none. */
export function blocksUntil({ since, isLost }: Leaving, now: number): number | null {
  const until = isLost || since === null ? null : since + BLOCKS_FOR_MS;
  return until !== null && until > now ? until : null;
}

type Limits = Pick<PlanInput, 'inProgress' | 'burst' | 'backoffs' | 'now'>;

/** How many more members a plan may ask to go, in addition to terminating ones. */
export class RemovalLimit {
  #remaining: number;
  #allowance: number;
  #freeAt: number | null = null;
  #turnedAway = 0;

  constructor(leaving: readonly Leaving[], { inProgress, burst, backoffs, now }: Limits) {
    const names = new Set(inProgress.deleting);
    for (const one of leaving) {
      const until = blocksUntil(one, now);
      if (until === null) continue;
      names.add(one.name);
      this.#freeAt = earlier(this.#freeAt, until);
    }
    this.#remaining = Math.max(burst - names.size, 0);
    this.#allowance = allowanceOf({ backoffs, burst }, 'FailedDelete');
  }

  /** Returns which of these members are removed now. */
  admit<T>(members: readonly T[]): T[] {
    const admitted = this.again(members.slice(0, this.#remaining));
    this.#remaining -= admitted.length;
    this.#turnedAway += members.length - admitted.length;
    return admitted;
  }

  /** Returns which of these members are released now: each takes a place, and a refusal is not one to delete. */
  release<T>(members: readonly T[]): T[] {
    const released = members.slice(0, this.#remaining);
    this.#remaining -= released.length;
    return released;
  }

  /** Returns, of members that are already going, those to ask now. */
  again<T>(members: readonly T[]): T[] {
    const admitted = members.slice(0, this.#allowance);
    this.#allowance -= admitted.length;
    return admitted;
  }

  /** How many are to go, and wait until others have gone. */
  get waiting(): number {
    return this.#turnedAway;
  }

  /** When the next place is free even if no member goes, in milliseconds since the epoch; null if none waits for it. */
  get requeueAt(): number | null {
    return this.#turnedAway > 0 ? this.#freeAt : null;
  }
}

/** Tells how many members wait for others. */
export const formatWaiting = (waiting: number): string[] =>
  waiting === 0 ? [] : [`${waiting} more ${waiting === 1 ? 'waits' : 'wait'} to be deleted`];
