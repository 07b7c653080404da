import type { Refused } from '../../activities/pool/types.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { Failure } from '../../decisions/pool/status.ts';
import type { Trouble } from '../messages.ts';

/** Plain data: a run hands it to the next. */
export interface SetbacksState {
  failure: Failure | null;
  /** Failures in a row; the delay doubles with each. */
  inARow: number;
  /** Milliseconds since the epoch: nothing is begun before. */
  retryAt: number | null;
  /** Newest last. */
  troubles: Trouble[];
  /**
   * VMs that were refused since the pool was last edited, by name, the last to be refused last: others go before them.
   */
  refused?: string[];
  /** The failure is theirs alone. */
  isOfOnes?: boolean;
}

const TROUBLES_KEPT = 10;
const REFUSED_KEPT = 250;

const none = (): SetbacksState => ({ failure: null, inARow: 0, retryAt: null, troubles: [] });

/**
 * Remembers what went wrong, and says how much may be begun again: nothing while the delay runs, then one VM, then all.
 */
export class Setbacks {
  state: SetbacksState;
  #hasProven = false;

  constructor(state: SetbacksState = none()) {
    this.state = state;
  }

  /**
   * The pool is another: nothing that went wrong before is its own. What still ends knows by the state that it began
   * with.
   */
  reset(): void {
    this.state = none();
    this.#hasProven = false;
  }

  /**
   * `refused`: the VMs that it was about, and whether it may concern all others as well. `count`: so many others were
   * done.
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
    // Those that were refused before say nothing of the others.
    const areKnown = names.length > 0 && names.every((name) => before.includes(name));
    state.isOfOnes = areKnown || (!isGeneral && (count > 0 || !wasGeneral));
    state.refused = [...before.filter((name) => !names.includes(name)), ...names].slice(-REFUSED_KEPT);
    this.#hasProven = false;
    const now = Date.now();
    this.note(reason, message);
    // Lanes that fail together are one failure.
    if (!this.isWaiting()) state.retryAt = now + backoffMs(++state.inARow);
    state.failure = { reason, message, since: state.failure?.since ?? new Date(now).toISOString() };
  }

  /** A step that could have failed for this reason has not. */
  succeeded(reason: Failure['reason']): void {
    this.#hasProven ||= reason === 'FailedCreate';
    if (this.state.failure?.reason === reason) this.passed();
  }

  /** True while the last VMs were made without trouble: the next need no slow start. */
  get hasProven(): boolean {
    return this.#hasProven;
  }

  passed(): void {
    Object.assign(this.state, { failure: null, inARow: 0, retryAt: null });
  }

  /** The delay is over, for what failed is now asked otherwise; should it fail again, the next one is longer. */
  tryNow(): void {
    this.state.retryAt = null;
    this.state.refused = [];
  }

  note(reason: string, message: string): void {
    const { state } = this;
    const last = state.troubles.at(-1);
    const others = last?.reason === reason && last.message === message ? state.troubles.slice(0, -1) : state.troubles;
    state.troubles = [...others, { time: new Date(Date.now()).toISOString(), reason, message }].slice(-TROUBLES_KEPT);
  }

  isWaiting(): boolean {
    return this.state.retryAt !== null && this.state.retryAt > Date.now();
  }

  /** Milliseconds until the next try; undefined where none is waited for. */
  delayMs(): number | undefined {
    return this.isWaiting() ? this.state.retryAt! - Date.now() : undefined;
  }

  /**
   * VMs that others go before. `isHeld`: they are not to be tried yet. `isGeneral`: the others may be refused as well.
   */
  refused(): { names: string[]; isHeld: boolean; isGeneral: boolean } {
    return { names: this.state.refused ?? [], isHeld: this.isWaiting(), isGeneral: this.#isGeneral };
  }

  get #isGeneral(): boolean {
    return this.state.failure !== null && this.state.isOfOnes !== true;
  }

  /** VMs that may be begun with now; null for no limit. */
  allowance(busy: boolean): number | null {
    if (!this.#isGeneral) return null;
    return this.isWaiting() || busy ? 0 : 1;
  }
}
