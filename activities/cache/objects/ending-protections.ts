import { earlier } from '../../../decisions/lib/earlier-and-later.ts';
import { withoutEnded, type Protections } from '../../../decisions/views/annotations/protection.ts';

type Protected = Protections & { namespace: string; name: string };

/** A timer can't wait longer. */
const MAX_WAIT_MS = 2_147_483_647;

/** Tells when the protections of VMs end by themselves: nothing in the cluster changes then. */
export class EndingProtections {
  readonly #onEnd: (key: string, now: number) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(onEnd: (key: string, now: number) => void) {
    this.#onEnd = onEnd;
  }

  /** Follows what this VM is protected by now, and returns its current view. */
  seen<V extends Protected>(view: V): V {
    const now = Date.now();
    const current = withoutEnded(view, now);
    this.#wait(`${view.namespace}/${view.name}`, earlier(current.optedOutUntil, current.protectedUntil), now);
    return current;
  }

  #wait(key: string, until: number | null, now: number): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    if (until === null) return;
    const end = (): void => {
      this.#timers.delete(key);
      const at = Date.now();
      if (at < until) this.#wait(key, until, at);
      else this.#onEnd(key, at);
    };
    const timer = setTimeout(end, Math.min(until - now, MAX_WAIT_MS));
    timer.unref?.();
    this.#timers.set(key, timer);
  }
}
