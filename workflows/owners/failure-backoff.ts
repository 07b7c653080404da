import type { Refused } from '../../activities/owners/done.ts';
import { CAPS } from '../../api/lib/caps.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import {
  operationOf,
  type Backoff,
  type Backoffs,
  type Failure,
  type FailureReason,
} from '../../decisions/owners/failures.ts';
import type { RecentError } from '../lib/messages.ts';
import type { OperationKind } from './in-flight.ts';

/** Failures for one reason. */
interface Failures {
  failure: Failure | null;
  /** Failures in a row; the delay doubles with each. */
  inARow: number;
  /** Milliseconds since the epoch; nothing that failed so is begun before it. */
  retryAt: number | null;
  /** Names of VMs refused since the pool was last edited, the latest refused last; other VMs go before them. */
  refused: string[];
  /** Whether the failure concerns only the refused VMs. */
  isOfOnes: boolean;
}

/** Plain data: each run hands it to the next. */
export interface FailureBackoffState {
  byReason: Partial<Record<FailureReason, Failures>>;
  /** Newest last. */
  recentErrors: RecentError[];
}

const ERRORS_KEPT = 10;

const none = (): Failures => ({ failure: null, inARow: 0, retryAt: null, refused: [], isOfOnes: false });
const nothing = (): FailureBackoffState => ({ byReason: {}, recentErrors: [] });

/**
 * Remembers what went wrong, and limits how much may be begun again: nothing during the delay, then one VM, then all.
 * What fails for one reason holds back nothing else: VMs that can't be deleted don't delay the creation of missing VMs.
 */
export class FailureBackoff {
  state: FailureBackoffState;
  #hasSucceeded = false;

  constructor(state: FailureBackoffState = nothing()) {
    this.state = state;
  }

  /**
   * Forgets everything, because the pool is now another of the same name. Steps still in flight notice it by comparing
   * `state` with the one they began with.
   */
  reset(): void {
    this.state = nothing();
    this.#hasSucceeded = false;
  }

  /**
   * `names`: the VMs that were refused. `isGeneral`: whether the failure may concern all others too. `count`: how many
   * others succeeded.
   */
  failed(
    reason: FailureReason,
    message: string,
    { names = [], isGeneral = true }: Pick<Refused, 'names' | 'isGeneral'> = {},
    count = 0,
  ): void {
    const failures = (this.state.byReason[reason] ??= none());
    const before = failures.refused;
    const wasGeneral = isOfAll(failures);
    // VMs that were refused before say nothing about the others.
    const areKnown = names.length > 0 && names.every((name) => before.includes(name));
    const refused = [...before.filter((name) => !names.includes(name)), ...names];
    const isOfFew = areKnown || (!isGeneral && (count > 0 || !wasGeneral));
    // A list that is full may have forgotten some, which would be tried as if they had not been refused.
    failures.isOfOnes = isOfFew && refused.length < CAPS.refusedNames;
    failures.refused = refused.slice(-CAPS.refusedNames);
    if (reason === 'FailedCreate') this.#hasSucceeded = false;
    const now = Date.now();
    this.recordError(reason, message);
    // Steps that fail together count as one failure.
    if (!this.isWaiting(reason)) failures.retryAt = now + backoffMs(++failures.inARow);
    failures.failure = { reason, message, since: failures.failure?.since ?? new Date(now).toISOString() };
  }

  /** Notes that a step that could have failed for `reason` has succeeded. */
  succeeded(reason: FailureReason): void {
    this.#hasSucceeded ||= reason === 'FailedCreate';
    this.passed(reason);
  }

  /** Whether the last VMs were created without trouble, so that the next need no slow start. */
  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }

  /** Forgets the failure, unless a newer failure has replaced it meanwhile. */
  passed(reason: FailureReason, failure?: Failure): void {
    const failures = this.state.byReason[reason];
    if (failures !== undefined && (failure === undefined || failures.failure === failure))
      Object.assign(failures, { failure: null, inARow: 0, retryAt: null });
  }

  /** Ends all delays, because what failed has changed since. If it fails again, the next delay is longer. */
  tryNow(): void {
    for (const failures of this.#all) Object.assign(failures, { retryAt: null, refused: [] });
  }

  recordError(reason: string, message: string): void {
    const { state } = this;
    const last = state.recentErrors.at(-1);
    const others =
      last?.reason === reason && last.message === message ? state.recentErrors.slice(0, -1) : state.recentErrors;
    state.recentErrors = [...others, { time: new Date(Date.now()).toISOString(), reason, message }].slice(-ERRORS_KEPT);
  }

  get #all(): Failures[] {
    return Object.values(this.state.byReason);
  }

  isFailing(reason: FailureReason): boolean {
    return (this.state.byReason[reason]?.failure ?? null) !== null;
  }

  isWaiting(reason: FailureReason): boolean {
    return (this.state.byReason[reason]?.retryAt ?? 0) > Date.now();
  }

  /** The reasons why something waits to be tried again. */
  get waiting(): FailureReason[] {
    return (Object.keys(this.state.byReason) as FailureReason[]).filter((reason) => this.isWaiting(reason));
  }

  /** When the next retry is due, in milliseconds since the epoch; null if none is. */
  get retryAt(): number | null {
    const times = this.#all.map(({ retryAt }) => retryAt ?? 0).filter((at) => at > Date.now());
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Returns what the failures leave to the next plan. `isBusy`: whether operations of this kind are in flight. */
  backoffs(isBusy: (kind: OperationKind) => boolean): Backoffs {
    const backoffs: Backoffs = {};
    for (const [key, failures] of Object.entries(this.state.byReason)) {
      const reason = key as FailureReason;
      const { failure, refused } = failures;
      const isGeneral = isOfAll(failures);
      const isDelayed = this.isWaiting(reason);
      const one = isDelayed || isBusy(operationOf(reason) ?? 'finalizer') ? 0 : 1;
      const backoff: Backoff = {
        failure,
        allowance: isGeneral ? one : null,
        refused: { names: refused, isDelayed, isGeneral },
      };
      if (failure !== null || refused.length > 0) backoffs[reason] = backoff;
    }
    return backoffs;
  }
}

const isOfAll = ({ failure, isOfOnes }: Failures): boolean => failure !== null && !isOfOnes;
