import type { NoPlace } from '../disruption-budget/in-place.ts';

/** A VM that a wave has begun with. */
export interface Begun {
  vm: string;
  /** When it was begun with, in milliseconds since the epoch. */
  since: number;
  /** The grace period of the VMI that is to end, in milliseconds; absent if the VM had none. */
  graceMs?: number;
  /** It should have run, but was not ready. */
  wasDown?: true;
}

/** What a look at a VM that was begun with has found; `times`: when a look would find something else. */
export interface Followed<O> {
  outcome: O | null;
  /** The outcome comes from the passing of time, and must be confirmed by the API server. */
  isLate: boolean;
  times: number[];
}

/**
 * Why a VM is not begun with. `failing`: it alone, after some tries. `superseded`: nobody waits for those that are on
 * their way either.
 */
export interface WaveStop {
  stop: 'full' | 'failing' | 'stopped' | 'superseded';
  why: string;
}

/** How VMs are disrupted for one reason, one by one. All but `take` look at this worker's caches alone. */
export interface DisruptionMethod<Held extends { name: string }, O extends { vm: string }> {
  stop(outcomes: readonly O[], now: number): WaveStop | null;
  /** Whether nothing has been done yet to the VM. */
  isQueued(held: Held): boolean;
  /** How many more VMs may go down while these are on their way. */
  room(onTheirWay: readonly string[], now: number): number;
  /** Whether the VM may be begun with only while there is room. */
  costs(held: Held): boolean;
  /** What is to be known of the VM later, as it is begun with; `isNew`: false if it was begun with earlier. */
  begin(held: Held, now: number, isNew: boolean): Begun;
  /**
   * Does what is to be done. Resolves to its outcome, to null if the VM is on its way, and to `NoPlace` if it waits for
   * another turn. What it waits for through `aside` keeps no other VM from its turn. Throws transient errors.
   */
  take(held: Held, aside: Aside): Promise<O | NoPlace | null>;
  follow(held: Held, begun: Begun, now: number): Promise<Followed<O>>;
  /** The outcome of a VM whose turn has not come. */
  givenBack(held: Held, stop: WaveStop): O;
  /** Whether others must learn of the outcome before all others are known. */
  isNews(outcome: O): boolean;
}

export type Aside = <T>(wait: Promise<T>) => Promise<T>;
