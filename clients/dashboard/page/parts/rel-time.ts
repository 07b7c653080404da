import { clusterNow } from '../live/cluster-time.ts';
import { clockOf, distanceOf, lengthOf } from '../pure/times.ts';

const shown = new Set<RelTime>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Runs once a second for all of them, while there are any; a hidden tab draws nothing. */
function tick(): void {
  if (document.visibilityState === 'visible') for (const one of shown) one.draw();
}

/**
 * `<rel-time at="2026-11-27T16:04:09Z">`: how long ago, or how soon; with `length`, how long it is from or to then. The
 * date and the time on demand.
 */
class RelTime extends HTMLElement {
  static readonly observedAttributes = ['at'];
  readonly #time = document.createElement('time');

  connectedCallback(): void {
    if (this.#time.parentNode !== this) this.append(this.#time);
    shown.add(this);
    timer ??= setInterval(tick, 1000);
    this.draw();
  }

  disconnectedCallback(): void {
    shown.delete(this);
    if (shown.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  attributeChangedCallback(): void {
    const at = this.getAttribute('at') ?? '';
    this.#time.dateTime = at;
    this.#time.title = clockOf(Date.parse(at));
    this.draw();
  }

  draw(): void {
    const [at, now] = [Date.parse(this.getAttribute('at') ?? ''), clusterNow()];
    const text = this.hasAttribute('length') ? lengthOf(at - now) : distanceOf(at, now);
    if (this.#time.textContent !== text) this.#time.textContent = text;
  }
}

customElements.define('rel-time', RelTime);
