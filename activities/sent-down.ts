import { liveVmi } from '../decisions/availability.ts';
import type { Fleet } from './fleet.ts';

/** Longer than any cache is behind. */
const REMEMBERED_MS = 60_000;

/** Guests that this worker has just sent down, by `namespace/name` of their VMs, for as long as its own picture still shows them well. */
export class SentDown {
  readonly #fleet: Fleet;
  readonly #sent = new Map<string, { guest: string; at: number }>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  add(key: string, guest: string): void {
    this.#sent.set(key, { guest, at: Date.now() });
  }

  /** It stays up after all. */
  remove(key: string): void {
    this.#sent.delete(key);
  }

  keys(): string[] {
    for (const [key, { guest, at }] of this.#sent) {
      const vm = this.#fleet.vms.get(key);
      if (vm === undefined || liveVmi(this.#fleet.vmiOf(vm))?.uid !== guest || at + REMEMBERED_MS < Date.now()) this.#sent.delete(key);
    }
    return [...this.#sent.keys()];
  }
}
