import type { Stored } from '../../../api/objects.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import { failuresOfThisWay } from '../../../decisions/rollout/state/state.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { Owner } from '../../cli/owner.ts';
import type { Need, OwnerCard, VmCell } from '../contract/fleet.ts';
import type { Changes } from '../contract/messages.ts';
import { NO_OWNER, type OwnerPart } from '../view/owner-part.ts';
import { Card } from './card.ts';
import { NO_FLAGS, ownerKey, type Members, type PoolFlags } from './members.ts';

interface Around {
  members: Members;
  /** What the card of an owner tells without its members. */
  partOf: (owner: Stored<Owner>, pool: Stored<Pool> | null) => OwnerPart;
  /** Takes over a card that has changed; undefined: it is gone. */
  onCard: (id: string, card: OwnerCard | undefined, needs: Need[]) => void;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** Which member has which square on which card. */
export class Seating {
  readonly #around: Around;
  /** Cards by the key of their owner, or by their id if they have none. */
  readonly #cards = new Map<string, Card>();
  readonly #seatedAt = new Map<string, Card>();
  /** The key of the owner of each member, and the members of each owner, whether it is known or not. */
  readonly #ownerOf = new Map<string, string>();
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #dirty = new Set<Card>();
  readonly #parts = new Map<Card, OwnerPart>();
  readonly #nextChanges = new Map<Card, number>();
  readonly #changed = new Map<string, Map<string, VmCell | null>>();

  constructor(around: Around) {
    this.#around = around;
  }

  setOwner(kind: VmOwnerKind, before: Stored<Owner> | undefined, after: Stored<Owner> | undefined): void {
    const { namespace = '', uid, name } = (after ?? before!).metadata;
    const key = ownerKey(kind, namespace, uid);
    if (after === undefined) return this.#drop(key);
    if (before !== undefined && before.metadata.uid !== uid) this.#drop(ownerKey(kind, namespace, before.metadata.uid));
    const known = this.#cards.get(key);
    const card = known ?? new Card(kind, namespace, name);
    const pool = card.pool;
    card.owner = after;
    this.#cards.set(key, card);
    this.#look(card);
    this.#updateFlags(namespace, pool, card.pool);
    if (known === undefined) for (const member of this.#byOwner.get(key) ?? []) this.#around.members.dirty.add(member);
  }

  poolOf(namespace: string, name: string): Stored<Pool> | undefined {
    for (const { pool } of this.#cards.values())
      if (pool?.metadata.namespace === namespace && pool.metadata.name === name) return pool;
    return undefined;
  }

  /** The card of a member, by its `namespace/name`; also if healing has deleted it, and is to make it again. */
  cardOf(member: string): Card | undefined {
    return this.#seatedAt.get(member) ?? [...this.#cards.values()].find(({ pool }) => isHealedIn(pool, member));
  }

  /** Has all cards be looked at again, whatever they show. */
  lookAgain(): void {
    for (const card of this.#cards.values()) this.#look(card);
  }

  lookAgainAtOwner(kind: VmOwnerKind, namespace: string, uid: string): void {
    const card = this.#cards.get(ownerKey(kind, namespace, uid));
    if (card !== undefined) this.#look(card);
  }

  /** Looks at cards that change with time alone. */
  tick(): void {
    const now = this.#around.now();
    for (const [card, at] of this.#nextChanges) {
      if (at > now) continue;
      this.#nextChanges.delete(card);
      this.#look(card);
    }
  }

  /** Brings all squares and cards up to date that may have changed. */
  settle(): void {
    const { members } = this.#around;
    for (const card of this.#dirty)
      // Squares name revisions by their index, so that these come first.
      if (card.pool !== null && card.setRevisions(this.#partOf(card).revisions))
        for (const name of card.cells.keys()) members.dirty.add(`${card.namespace}/${name}`);
    for (const key of members.dirty) this.#seat(key);
    members.dirty.clear();
    for (const card of this.#dirty) this.#draw(card);
    this.#dirty.clear();
  }

  /** Squares that have changed since they were last taken, by the ids of their cards; undefined if none has. */
  collect(): Record<string, Changes<VmCell>> | undefined {
    if (this.#changed.size === 0) return undefined;
    const collected: Record<string, Changes<VmCell>> = {};
    for (const [card, cells] of this.#changed) {
      const set = [...cells.values()].filter((cell) => cell !== null);
      const gone = [...cells].flatMap(([name, cell]) => (cell === null ? [name] : []));
      collected[card] = { ...(set.length === 0 ? {} : { set }), ...(gone.length === 0 ? {} : { gone }) };
    }
    this.#changed.clear();
    return collected;
  }

  /** All squares, by the ids of their cards. */
  cells(): Record<string, Changes<VmCell>> {
    return Object.fromEntries([...this.#cards.values()].map(({ id, cells }) => [id, { set: [...cells.values()] }]));
  }

  /** Something of the card has changed other than its members. */
  #look(card: Card): void {
    this.#parts.delete(card);
    this.#dirty.add(card);
  }

  #updateFlags(namespace: string, before: Stored<Pool> | null, after: Stored<Pool> | null): void {
    const [was, is] = [flagsOf(before), flagsOf(after)];
    for (const vm of new Set([...was.keys(), ...is.keys()])) {
      const flags = is.get(vm) ?? NO_FLAGS;
      if (JSON.stringify(was.get(vm)) === JSON.stringify(flags)) continue;
      this.#around.members.setFlags(`${namespace}/${vm}`, flags);
    }
  }

  #drop(key: string): void {
    const card = this.#cards.get(key);
    if (card === undefined) return;
    this.#cards.delete(key);
    this.#dirty.delete(card);
    this.#parts.delete(card);
    this.#nextChanges.delete(card);
    // Another object may get its name, and its card the same id.
    for (const name of card.cells.keys()) this.#setCell(card, name, null);
    this.#updateFlags(card.namespace, card.pool, null);
    this.#around.onCard(card.id, undefined, []);
    for (const member of this.#byOwner.get(key) ?? []) {
      // A member that has not been brought up to date since its owner came still has its square on another card.
      if (this.#seatedAt.get(member) === card) this.#seatedAt.delete(member);
      this.#around.members.dirty.add(member);
    }
  }

  #seat(key: string): void {
    const found = this.#around.members.seatOf(key);
    this.#index(key, found?.owner);
    const before = this.#seatedAt.get(key);
    const card = found === null ? undefined : this.#cardFor(found.owner, found.namespace);
    if (before !== undefined && before !== card) this.#unseat(key, before);
    if (card === undefined || found === null) return;
    this.#seatedAt.set(key, card);
    this.#dirty.add(card);
    const cell = card.seat(found.seat);
    if (cell !== undefined) this.#setCell(card, found.seat.name, cell);
  }

  #unseat(key: string, card: Card): void {
    const name = key.slice(key.indexOf('/') + 1);
    card.remove(name);
    this.#seatedAt.delete(key);
    this.#setCell(card, name, null);
    this.#dirty.add(card);
    if (card.kind === null && card.cells.size === 0) this.#drop(card.id);
  }

  #cardFor(owner: string, namespace: string): Card {
    const own = this.#cards.get(owner);
    if (own !== undefined) return own;
    const key = `none/${namespace}`;
    const card = this.#cards.get(key) ?? new Card(null, namespace, '');
    this.#cards.set(key, card);
    return card;
  }

  #index(key: string, owner: string | undefined): void {
    const before = this.#ownerOf.get(key);
    if (before === owner) return;
    if (before !== undefined) {
      const all = this.#byOwner.get(before);
      all?.delete(key);
      if (all?.size === 0) this.#byOwner.delete(before);
    }
    if (owner === undefined) this.#ownerOf.delete(key);
    else {
      this.#ownerOf.set(key, owner);
      this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? new Set()).add(key));
    }
  }

  #setCell({ id }: Card, name: string, cell: VmCell | null): void {
    const cells = this.#changed.get(id) ?? new Map<string, VmCell | null>();
    this.#changed.set(id, cells.set(name, cell));
  }

  #partOf(card: Card): OwnerPart {
    if (card.owner === undefined) return { ...NO_OWNER, desired: card.cells.size };
    const part = this.#parts.get(card) ?? this.#around.partOf(card.owner, card.pool);
    this.#parts.set(card, part);
    return part;
  }

  #draw(card: Card): void {
    const now = this.#around.now();
    const built = card.build(this.#partOf(card), now);
    const at = card.nextChangeAt(built, now);
    if (at !== null) this.#nextChanges.set(card, at);
    this.#around.onCard(card.id, built, card.needs);
  }
}

function flagsOf(pool: Stored<Pool> | null): Map<string, PoolFlags> {
  const { healing, rollout, disruptedVMs = [] } = pool?.status ?? {};
  const cycles = new Map((healing?.cycles ?? []).map((cycle) => [cycle.vm, cycle]));
  const claimed = new Set(disruptedVMs.map(({ vm }) => vm));
  const failures = rollout === undefined || rollout.completedAt !== undefined ? [] : failuresOfThisWay(rollout);
  const failed = new Map(failures.map(({ vm, at }) => [vm, Date.parse(at)]));
  const flagsOfVm = (vm: string): PoolFlags => ({
    cycle: cycles.get(vm) ?? null,
    failedAt: failed.get(vm) ?? null,
    isClaimed: claimed.has(vm),
  });
  return new Map([...cycles.keys(), ...claimed, ...failed.keys()].map((vm) => [vm, flagsOfVm(vm)]));
}

const isHealedIn = (pool: Stored<Pool> | null, member: string): boolean =>
  pool?.status?.healing?.cycles.some(({ vm }) => `${pool.metadata.namespace}/${vm}` === member) === true;
