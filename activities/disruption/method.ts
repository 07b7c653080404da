import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import type { NotAdmitted } from '../disruption-budget/claim.ts';
import type { ActsOfWaves } from './acts-of-waves.ts';

/** A VM that a wave has started on. */
export interface Begun {
  vm: string;
  /** When the wave started on it, in milliseconds since the epoch. */
  since: number;
  /** The grace period of the VMI that is to end, in milliseconds; absent if the VM had none. */
  graceMs?: number;
  /** It should have run, but was not ready. */
  wasDown?: true;
}

/** What a look at a VM in progress has found; `times`: when a look would find something else. */
export interface Followed<O> {
  outcome: O | null;
  /** The outcome comes from the passing of time, and must be confirmed by the API server. */
  isLate: boolean;
  times: number[];
}

/**
 * Why the wave does not start on a VM. `failing`: it alone, after some tries. `superseded`: VMs in progress are not
 * waited for either.
 */
export interface WaveStop {
  stop: 'full' | 'failing' | 'stopped' | 'superseded';
  message: string;
}

/** What a look at the VMs that are not on their way, and have no outcome, has found. */
export interface Turn<Item> {
  /** VMs that the wave may start on now, in order. */
  next: readonly Item[];
  /** VMs that are given back if their turn does not come. */
  waiting: readonly Item[];
  /** How many VMs the wave waits for, including VMs that it may start on. */
  open: number;
  /** Why the wave does not start on waiting VMs. */
  whyNot: string;
  /** Whether they wait for a known time, such as the start of a window: they are not given back for waiting long. */
  isTimed?: boolean;
  /** When others must learn of it, though no VM has an outcome; milliseconds since the epoch. */
  dueAt: number;
  /** When a look would find something else, in milliseconds since the epoch. */
  times: readonly number[];
}

/** How far a wave has come. */
export interface WaveProgress {
  /** Names of VMs that are acted on, or on their way. */
  busy: ReadonlySet<string>;
  /** Names of VMs that have an outcome. */
  ended: ReadonlySet<string>;
  /** Whether the wave may start on further VMs. */
  mayStart: boolean;
}

/** How VMs are disrupted for one reason, one by one. All but `execute` look at this worker's caches alone. */
export interface DisruptionMethod<Item extends { name: string }, O extends { vm: string }, B extends Begun = Begun> {
  /** VMs that were started on earlier, and VMs that an earlier attempt may have left half done. */
  readonly known: { begun: readonly { item: Item; begun: B }[]; halfDone: readonly Item[] };
  /** What caches must have reached to show what was done. */
  readonly minVersions: ResourceVersions;
  /** `namespace/name` of the VM with this name. */
  keyOf(name: string): string;
  /** Takes a change in, and returns whether a look may find something else since. */
  concerns(change: CacheChange): boolean;
  stop(outcomes: readonly O[], now: number): WaveStop | null;
  turn(progress: WaveProgress, now: number): Turn<Item> | Promise<Turn<Item>>;
  /** What to remember of the VM as the wave starts on it; `isNew`: false if that was earlier. */
  begin(item: Item, now: number, isNew: boolean): B;
  /**
   * Does what is to be done. Resolves to its outcome, to null if the VM is on its way, and to `NotAdmitted` if it waits
   * for another turn. While it waits `withoutPlace`, another VM may take its place. Throws transient errors.
   */
  execute(item: Item, begun: B): Promise<O | NotAdmitted | null>;
  follow(item: Item, begun: B, now: number): Promise<Followed<O>>;
  /** The outcome of a VM that is not waited for; null if it has none. */
  givenBack(item: Item, stop: WaveStop): O | null;
  /** Whether others must learn of the outcome before all others are known. */
  isNews(outcome: O): boolean;
}

export interface WaveOptions {
  cache: ClusterCache;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
  /** Aborted when the wave is to start on no further VM, and not to wait for VMs in progress. */
  cancelRequested: AbortSignal;
  /** How many VMs are acted on at once. */
  concurrency: number;
  /** Shared by all waves of the worker. */
  acts: ActsOfWaves;
  /** If no VM is in progress and none can be started on for this long, in milliseconds, the rest is given back. */
  idleMs: number;
  /** For how long that has been so before, in milliseconds. */
  idledMs: number;
  /** After how long routine outcomes are reported, in milliseconds. */
  reportMs: number;
}

/** The outcomes of VMs; VMs in progress have none yet. */
export interface WaveResult<O, B extends Begun> {
  outcomes: O[];
  begun: B[];
  /** Whether nothing is left to be waited for. */
  isOver: boolean;
  /** For how long nothing has been on its way, in milliseconds; 0 if something is. */
  idledMs: number;
  /** What a later look must have seen. */
  minVersions: ResourceVersions;
}
