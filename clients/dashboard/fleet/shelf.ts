import type { Changes } from '../contract/messages.ts';

/** Items by their ids, and which of them have changed since they were last taken. */
export class Shelf<Item extends { id: string }> {
  readonly #items = new Map<string, Item>();
  readonly #texts = new Map<string, string>();
  readonly #set = new Set<string>();
  readonly #gone = new Set<string>();

  /** `undefined`: no item with this id is left. */
  set(id: string, item: Item | undefined): void {
    if (item === undefined) {
      if (!this.#items.delete(id)) return;
      this.#texts.delete(id);
      this.#set.delete(id);
      this.#gone.add(id);
      return;
    }
    const text = JSON.stringify(item);
    if (this.#texts.get(id) === text) return;
    this.#texts.set(id, text);
    this.#items.set(id, item);
    this.#gone.delete(id);
    this.#set.add(id);
  }

  all(): Item[] {
    return [...this.#items.values()];
  }

  /** Undefined if nothing has changed. */
  collect(): Changes<Item> | undefined {
    if (this.#set.size === 0 && this.#gone.size === 0) return undefined;
    const set = [...this.#set].map((id) => this.#items.get(id)!);
    const gone = [...this.#gone];
    this.#set.clear();
    this.#gone.clear();
    return { ...(set.length === 0 ? {} : { set }), ...(gone.length === 0 ? {} : { gone }) };
  }
}
