import type { Stored } from '../../../api/objects.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import { CLAIM_MS } from '../../../decisions/disruption-budget/claims.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { Pools, ownerKindOf } from '../../cli/kinds.ts';
import type { Owner } from '../../cli/owner.ts';
import { claimIsFor } from '../../view/claim-is-for.ts';
import type { SeenVm } from '../../view/vm-state.ts';
import { waitOf, type VmWait } from '../../view/vm-wait.ts';
import type { Budget, BudgetUse, Need, OwnerCard, Revision, VmCell } from '../contract/fleet.ts';
import { UNSEEN_MS } from '../view/need.ts';
import { ownerNeeds, type WaitingVm } from '../view/owner-needs.ts';
import type { OwnerPart } from '../view/owner-part.ts';

/** A member as it is placed on a card. */
export interface Seat extends SeenVm {
  name: string;
  revision: string | null;
  role: 1 | 2 | undefined;
  /** RFC 3339; null if unknown. */
  downSince: string | null;
}

const USES_SHOWN = 50;

/** A card, and what is kept to change one square of it without a look at the others. */
export class Card {
  readonly id: string;
  readonly kind: VmOwnerKind | null;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for VMs of no owner. */
  owner: Stored<Owner> | undefined;
  readonly cells = new Map<string, VmCell>();
  readonly #seats = new Map<string, Seat>();
  /** The revisions of the owner's template; and with those that members have beside. */
  #own: Revision[] = [];
  #revisions: Revision[] = [];
  needs: Need[] = [];
  /** Since when no worker has looked at what is asked of it, in milliseconds since the epoch; null if one has. */
  unseenSince: number | null = null;

  constructor(kind: VmOwnerKind | null, namespace: string, name: string) {
    this.kind = kind;
    this.namespace = namespace;
    this.name = name;
    const alias = kind === null ? undefined : ownerKindOf(kind)!.aliases.find((one) => one !== 'dvmirs');
    this.id = alias === undefined ? `none/${namespace}` : `${alias}/${namespace}/${name}`;
  }

  get pool(): Stored<Pool> | null {
    return this.owner !== undefined && this.kind === Pools.resource.kind ? this.owner : null;
  }

  /** Takes over the revisions of the owner. Returns whether members need new indexes. */
  setRevisions(own: Revision[]): boolean {
    const isSame = own.map(({ hash }) => hash).join() === this.#own.map(({ hash }) => hash).join();
    this.#own = own;
    this.#revisions = isSame ? [...own, ...this.#revisions.slice(own.length)] : [...own];
    return !isSame;
  }

  /** Returns the cell; undefined if it has not changed. */
  seat(seat: Seat): VmCell | undefined {
    const before = this.cells.get(seat.name);
    this.#seats.set(seat.name, seat);
    const revision = this.#indexOf(seat.revision);
    const cell: VmCell =
      seat.role === undefined ? [seat.name, seat.state, revision] : [seat.name, seat.state, revision, seat.role];
    if (before?.join() === cell.join()) return undefined;
    this.cells.set(seat.name, cell);
    return cell;
  }

  remove(name: string): void {
    this.#seats.delete(name);
    this.cells.delete(name);
  }

  #indexOf(hash: string | null): number {
    if (hash === null || this.kind !== Pools.resource.kind) return -1;
    const found = this.#revisions.findIndex((one) => one.hash === hash);
    return found === -1 ? this.#revisions.push({ hash, number: null, is: 'other' }) - 1 : found;
  }

  /** Builds the card anew, and its needs. */
  build(part: OwnerPart, now: number): OwnerCard {
    const { budget, revisions: _own, mayNot, ...rest } = part;
    const counts: OwnerCard['counts'] = {};
    const down = new Set<string>();
    const all = { current: 0, ready: 0, stopped: 0 };
    for (const { name, role, state, isReady, isDown } of this.#seats.values()) {
      counts[state] = (counts[state] ?? 0) + 1;
      if (role !== undefined) continue;
      if (state !== 'T') all.current++;
      if (isReady) all.ready++;
      if (state === 'O') all.stopped++;
      if (isDown) down.add(name);
    }
    const isSeen = this.isSeen();
    this.unseenSince = isSeen ? null : (this.unseenSince ?? now);
    const card: OwnerCard = {
      id: this.id,
      kind: this.kind,
      namespace: this.namespace,
      name: this.name,
      ...all,
      counts,
      revisions: this.#revisions,
      budget: budget && this.#budget(budget, down, now),
      ...rest,
    };
    const { owner, pool, unseenSince } = this;
    this.needs = ownerNeeds(card, { owner, pool, waiting: this.#waiting(), unseenSince, mayNot, now });
    return card;
  }

  /** What a member waits for; null if it is as its owner wants it. */
  waitOf(member: string): VmWait | null {
    return this.#waiting().find(({ vm }) => vm === member) ?? null;
  }

  /** Members that wait, and members that healing has deleted and has yet to make again. */
  #waiting(): WaitingVm[] {
    const waits: WaitingVm[] = [];
    for (const { name: vm, state, wait } of this.#seats.values()) if (wait !== null) waits.push({ vm, state, ...wait });
    const cycles = this.pool?.status?.healing?.cycles ?? [];
    const gone = cycles.filter(({ vm }) => !this.#seats.has(vm));
    return [
      ...waits,
      ...gone.flatMap((cycle): WaitingVm[] => {
        const wait = waitOf('H', { vm: null, vmi: undefined, cycle });
        return wait === null ? [] : [{ vm: cycle.vm, state: 'H', ...wait }];
      }),
    ];
  }

  /** When the card changes although nothing else does, in milliseconds since the epoch; null: never. */
  nextChangeAt({ windows }: Pick<OwnerCard, 'windows'>, now: number): number | null {
    const times = [
      windows?.until == null ? [] : Date.parse(windows.until),
      this.unseenSince === null ? [] : this.unseenSince + UNSEEN_MS,
      this.#waiting().flatMap(({ lateAt }) => lateAt ?? []),
      (this.pool?.status?.disruptedVMs ?? []).map(({ at }) => Date.parse(at) + CLAIM_MS),
    ].flat();
    const later = times.filter((time) => time > now);
    return later.length === 0 ? null : later.reduce((a, b) => Math.min(a, b));
  }

  /** Whether a worker has looked at the newest spec. */
  isSeen(): boolean {
    const { metadata, status } = this.owner ?? { metadata: { generation: 0 }, status: undefined };
    return this.owner === undefined || (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  }

  #budget({ maxUnavailable, limit }: NonNullable<OwnerPart['budget']>, down: ReadonlySet<string>, now: number): Budget {
    const claims = new Map(
      (this.pool?.status?.disruptedVMs ?? [])
        .filter(({ at }) => Date.parse(at) + CLAIM_MS > now)
        .map((claim) => [claim.vm, claim]),
    );
    const names = [...new Set([...claims.keys(), ...down])];
    return {
      maxUnavailable,
      limit,
      uses: names.slice(0, USES_SHOWN).map((vm): BudgetUse => {
        const claim = claims.get(vm);
        return {
          vm,
          what: claim === undefined ? 'it is not ready' : claimIsFor(claim),
          since: claim?.at ?? this.#seats.get(vm)?.downSince ?? null,
          until: claim === undefined || down.has(vm) ? null : new Date(Date.parse(claim.at) + CLAIM_MS).toISOString(),
        };
      }),
      useCount: names.length,
    };
  }
}
