import type { OwnerCard, VmCell } from '../../contract/fleet.ts';
import type { Cells, Changes, Collections, Delta, Message, Needs, Snapshot } from '../../contract/messages.ts';

const COLLECTIONS = ['cards', 'operations', 'schedules', 'drains'] as const satisfies (keyof Collections)[];

type Items = { [K in keyof Collections]: Map<string, Collections[K]> };

/** The VMs of a card in the order of their names, and where each is. */
interface Members {
  cells: VmCell[];
  at: Map<string, number>;
  /** Counts changes, so that a view knows whether it has drawn this. */
  version: number;
}

const NO_CELLS: readonly VmCell[] = [];
const NO_NEEDS: Needs = { items: [], count: 0 };
/** Cells of a card in a message, as the server sends them. */
const IN_A_MESSAGE = 1000;

/** All that is known of the fleet. The worker that has the stream keeps one, and so does each tab. */
export class Fleet {
  readonly items: Items = { cards: new Map(), operations: new Map(), schedules: new Map(), drains: new Map() };
  needs = NO_NEEDS;
  /** Of the last message with one; null before there is any. */
  seq: number | null = null;
  /** All that may be listed is here: nothing shown means that there is nothing. */
  isSynced = false;
  readonly #members = new Map<string, Members>();
  /** Ids of the cards in their order; null until they are put into one. */
  #order: string[] | null = null;
  /** Cards whose cells are from before the last snapshot: shown until the new ones come, so that nothing flickers. */
  readonly #stale = new Set<string>();

  /** All cards in the order in which they are shown: no card moves by itself. */
  get cards(): OwnerCard[] {
    const { cards } = this.items;
    this.#order ??= [...cards.values()].sort(byOwner).map(({ id }) => id);
    return this.#order.map((id) => cards.get(id)!);
  }

  cellsOf(card: string): readonly VmCell[] {
    return this.#members.get(card)?.cells ?? NO_CELLS;
  }

  /** Changes whenever a VM of the card does. */
  versionOf(card: string): number {
    return this.#members.get(card)?.version ?? 0;
  }

  /** Takes a message of the stream; reports whether it changes what is shown. */
  receive(message: Message): boolean {
    switch (message.type) {
      case 'snapshot':
        this.#begin(message);
        return true;
      case 'cells':
        this.#fill(message);
        return true;
      case 'delta':
        this.#apply(message);
        return true;
      case 'synced':
        this.isSynced = true;
        return true;
      case 'session':
      case 'heartbeat':
        return false;
    }
  }

  /** What is known now as messages, for a tab that comes later. */
  *messages(): Generator<Message> {
    const { cards, operations, schedules, drains } = this.items;
    const { seq, needs } = this;
    if (seq === null) return;
    yield {
      type: 'snapshot',
      seq,
      needs,
      cards: [...cards.values()],
      operations: [...operations.values()],
      schedules: [...schedules.values()],
      drains: [...drains.values()],
    };
    for (const [card, { cells }] of this.#members)
      for (let from = 0; from < cells.length; from += IN_A_MESSAGE)
        yield { type: 'cells', card, cells: cells.slice(from, from + IN_A_MESSAGE) };
    if (this.isSynced) yield { type: 'synced' };
  }

  #begin(snapshot: Snapshot): void {
    for (const name of COLLECTIONS) {
      this.items[name].clear();
      this.#order = null;
      this.#change(name, { set: snapshot[name] });
    }
    for (const card of this.#members.keys())
      if (this.items.cards.has(card)) this.#stale.add(card);
      else this.#members.delete(card);
    this.needs = snapshot.needs;
    this.seq = snapshot.seq;
    this.isSynced = false;
  }

  #fill({ card, cells }: Cells): void {
    if (this.#stale.delete(card)) this.#clear(card);
    this.#changeCells(card, { set: cells });
  }

  #apply(delta: Delta): void {
    for (const card of this.#stale) this.#clear(card);
    this.#stale.clear();
    for (const name of COLLECTIONS) if (delta[name] !== undefined) this.#change(name, delta[name]);
    for (const [card, changes] of Object.entries(delta.cells ?? {})) this.#changeCells(card, changes);
    for (const card of delta.cards?.gone ?? []) this.#members.delete(card);
    this.needs = delta.needs ?? this.needs;
    this.seq = delta.seq;
  }

  #change<K extends keyof Collections>(name: K, { set = [], gone = [] }: Changes<Collections[K]>): void {
    const items = this.items[name] as Map<string, Collections[K]>;
    const before = items.size;
    for (const item of set) items.set(item.id, item);
    if (items.size !== before || gone.length > 0) this.#order = null;
    for (const id of gone) items.delete(id);
  }

  #clear(card: string): void {
    this.#members.set(card, { cells: [], at: new Map(), version: this.versionOf(card) + 1 });
  }

  #changeCells(card: string, { set = [], gone = [] }: Changes<VmCell>): void {
    const members = this.#members.get(card) ?? { cells: [], at: new Map(), version: 0 };
    const { at, cells } = members;
    const added = new Map<string, VmCell>();
    for (const cell of set) {
      const index = at.get(cell[0]);
      if (index === undefined) added.set(cell[0], cell);
      else cells[index] = cell;
    }
    if (added.size + gone.length > 0) {
      const removed = new Set(gone);
      members.cells = [...cells.filter(([name]) => !removed.has(name)), ...added.values()].toSorted(byName);
      members.at = new Map(members.cells.map(([name], index) => [name, index]));
    }
    members.version++;
    this.#members.set(card, members);
  }
}

/** What has an owner before what has none; then by namespace and name. */
function byOwner(one: OwnerCard, other: OwnerCard): number {
  const [a, b] = [sortKeyOf(one), sortKeyOf(other)];
  return a < b ? -1 : Number(a > b);
}

const sortKeyOf = ({ kind, namespace, name }: OwnerCard): string => `${kind === null ? 1 : 0}/${namespace}/${name}`;

/** `web-2` before `web-10`. A comparison of strings by locale takes too long for ten thousands. */
function byName([one]: VmCell, [other]: VmCell): number {
  const [a, b] = [digitsFrom(one), digitsFrom(other)];
  if (a === b && a < one.length && b < other.length && one.slice(0, a) === other.slice(0, b))
    return Number(one.slice(a)) - Number(other.slice(b));
  return one < other ? -1 : Number(one > other);
}

/** Where the number at the end of a name begins; its length if it has none. */
function digitsFrom(name: string): number {
  let at = name.length;
  while (at > 0 && name.charCodeAt(at - 1) >= 48 && name.charCodeAt(at - 1) <= 57) at--;
  return at;
}
