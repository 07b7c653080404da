import type { Refused } from '../../activities/owners/types.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import type { RecentError } from '../messages.ts';

/** Plain data: each run hands it to the next. */
export interface FailureBackoffState {
  failure: Failure | null;
  /** Failures in a row; the delay doubles with each. */
  inARow: number;
  /** Milliseconds since the epoch; nothing is begun before it. */
  retryAt: number | null;
  /** Newest last. */
  recentErrors: RecentError[];
  /** Names of VMs refused since the pool was last edited, the latest refused last; other VMs go before them. */
  refused?: string[];
  /** Whether the failure concerns only the refused VMs. */
  isOfOnes?: boolean;
}

const ERRORS_KEPT = 10;
const REFUSED_KEPT = 250;

const none = (): FailureBackoffState => ({ failure: null, inARow: 0, retryAt: null, recentErrors: [] });

/**
 * Remembers what went wrong, and limits how much may be begun again: nothing during the delay, then one VM, then all.
 */
export class FailureBackoff {
  state: FailureBackoffState;
  #hasProven = false;

  constructor(state: FailureBackoffState = none()) {
    this.state = state;
  }

  /**
   * Forgets everything, because the pool is now another of the same name. Steps still in flight notice it by comparing
   * `state` with the one they began with.
   */
  reset(): void {
    this.state = none();
    this.#hasProven = false;
  }

  /**
   * `names`: the VMs that were refused. `isGeneral`: whether the failure may concern all others too. `count`: how many
   * others succeeded.
   */
  failed(
    reason: Failure['reason'],
    message: string,
    { names = [], isGeneral = true }: Pick<Refused, 'names' | 'isGeneral'> = {},
    count = 0,
  ): void {
    const { state } = this;
    const before = state.refused ?? [];
    const wasGeneral = this.#isGeneral;
    // VMs that were refused before say nothing about the others.
    const areKnown = names.length > 0 && names.every((name) => before.includes(name));
    state.isOfOnes = areKnown || (!isGeneral && (count > 0 || !wasGeneral));
    state.refused = [...before.filter((name) => !names.includes(name)), ...names].slice(-REFUSED_KEPT);
    this.#hasProven = false;
    const now = Date.now();
    this.note(reason, message);
    // Lanes that fail together count as one failure.
    if (!this.isWaiting()) state.retryAt = now + backoffMs(++state.inARow);
    state.failure = { reason, message, since: state.failure?.since ?? new Date(now).toISOString() };
  }

  /** Notes that a step that could have failed for `reason` has succeeded. */
  succeeded(reason: Failure['reason']): void {
    this.#hasProven ||= reason === 'FailedCreate';
    if (this.state.failure?.reason === reason) this.passed();
  }

  /** Whether the last VMs were created without trouble, so that the next need no slow start. */
  get hasProven(): boolean {
    return this.#hasProven;
  }

  passed(): void {
    Object.assign(this.state, { failure: null, inARow: 0, retryAt: null });
  }

  /** Ends the delay, because what failed has changed since. If it fails again, the next delay is longer. */
  tryNow(): void {
    this.state.retryAt = null;
    this.state.refused = [];
  }

  note(reason: string, message: string): void {
    const { state } = this;
    const last = state.recentErrors.at(-1);
    const others =
      last?.reason === reason && last.message === message ? state.recentErrors.slice(0, -1) : state.recentErrors;
    state.recentErrors = [...others, { time: new Date(Date.now()).toISOString(), reason, message }].slice(-ERRORS_KEPT);
  }

  isWaiting(): boolean {
    return this.state.retryAt !== null && this.state.retryAt > Date.now();
  }

  /** Returns the milliseconds until the next retry; undefined if none is due. */
  delayMs(): number | undefined {
    return this.isWaiting() ? this.state.retryAt! - Date.now() : undefined;
  }

  /**
   * Returns the VMs that others go before. `isHeld`: they must not be tried yet. `isGeneral`: the others may be refused
   * too.
   */
  refused(): { names: string[]; isHeld: boolean; isGeneral: boolean } {
    return { names: this.state.refused ?? [], isHeld: this.isWaiting(), isGeneral: this.#isGeneral };
  }

  get #isGeneral(): boolean {
    return this.state.failure !== null && this.state.isOfOnes !== true;
  }

  /** Returns how many VMs may be begun now; null for no limit. */
  allowance(busy: boolean): number | null {
    if (!this.#isGeneral) return null;
    return this.isWaiting() || busy ? 0 : 1;
  }
}
