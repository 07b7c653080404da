import type { OwnerCard, VmCell } from '../../contract/fleet.ts';
import type { Changes, Collections, Delta, Needs } from '../../contract/messages.ts';

const COLLECTIONS = ['cards', 'operations', 'schedules', 'drains', 'budgets'] as const satisfies (keyof Collections)[];

type Items = { [K in keyof Collections]: Map<string, Collections[K]> };

/** The VMs of a card in the order of their names, and where each is. */
interface Members {
  cells: VmCell[];
  at: Map<string, number>;
  /** The version of the last change, so that a view knows whether it has drawn this. */
  version: number;
}

const NO_CELLS: readonly VmCell[] = [];
const NO_NEEDS: Needs = { items: [], count: 0 };
/** All that this tab knows of the fleet. */
export class Fleet {
  readonly items: Items = {
    cards: new Map(),
    operations: new Map(),
    schedules: new Map(),
    drains: new Map(),
    budgets: new Map(),
  };
  needs = NO_NEEDS;
  /** All that may be listed is here: nothing shown means that there is nothing. */
  isSynced = false;
  readonly #members = new Map<string, Members>();
  #changes = 0;
  /** Ids of the cards in their order; null until they are put into one. */
  #order: string[] | null = null;

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

  receive(delta: Delta): void {
    if (delta.isWhole === true) {
      for (const items of Object.values(this.items)) items.clear();
      this.#members.clear();
      this.#order = null;
    }
    for (const name of COLLECTIONS) if (delta[name] !== undefined) this.#change(name, delta[name]);
    for (const [card, changes] of Object.entries(delta.cells ?? {})) this.#changeCells(card, changes);
    for (const card of delta.cards?.gone ?? []) this.#members.delete(card);
    this.needs = delta.needs ?? this.needs;
    this.isSynced = delta.isSynced;
  }

  #change<K extends keyof Collections>(name: K, { set = [], gone = [] }: Changes<Collections[K]>): void {
    const items = this.items[name] as Map<string, Collections[K]>;
    const before = items.size;
    for (const item of set) items.set(item.id, item);
    if (items.size !== before || gone.length > 0) this.#order = null;
    for (const id of gone) items.delete(id);
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
    members.version = ++this.#changes;
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
