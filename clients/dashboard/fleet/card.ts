import type { Stored } from '../../../api/objects.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import { CLAIM_MS } from '../../../decisions/disruption-budget/claims.ts';
import { failuresOfThisWay } from '../../../decisions/rollout/state/state.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { Pools, ownerKindOf } from '../../cli/kinds.ts';
import type { Owner } from '../../cli/owner.ts';
import type { SeenVm } from '../../view/vm-state.ts';
import { waitOf, type Cycle, type VmWait } from '../../view/vm-wait.ts';
import type { Budget, BudgetUse, Need, OwnerCard, Revision, VmCell } from '../contract/fleet.ts';
import { claimIsFor } from '../view/claim-is-for.ts';
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

/** What a pool says of one of its VMs. */
export interface PoolFlags {
  /** Its replacement; null if it is not replaced. */
  cycle: Cycle | null;
  /** When it failed in the rollout, in milliseconds since the epoch; null if that does not count it as failed. */
  failedAt: number | null;
  isClaimed: boolean;
}

/** A card, and the members that it shows. */
export class Card {
  readonly id: string;
  readonly kind: VmOwnerKind | null;
  readonly namespace: string;
  readonly name: string;
  /** By the names of the members. */
  readonly seats = new Map<string, Seat>();
  readonly cells = new Map<string, VmCell>();
  needs: Need[] = [];
  /** Since when no worker has looked at what is asked of it, in milliseconds since the epoch; null if one has. */
  unseenSince: number | null = null;
  #owner: Stored<Owner> | undefined;
  #flags: ReadonlyMap<string, PoolFlags> = new Map();
  #revisions: Revision[] = [];

  constructor(kind: VmOwnerKind | null, namespace: string, name: string) {
    this.kind = kind;
    this.namespace = namespace;
    this.name = name;
    const alias = kind === null ? undefined : ownerKindOf(kind)!.aliases.find((one) => one !== 'dvmirs');
    this.id = alias === undefined ? `none/${namespace}` : `${alias}/${namespace}/${name}`;
  }

  /** Undefined for VMs of no owner. */
  get owner(): Stored<Owner> | undefined {
    return this.#owner;
  }

  set owner(owner: Stored<Owner> | undefined) {
    this.#owner = owner;
    this.#flags = flagsOf(this.pool);
  }

  get pool(): Stored<Pool> | null {
    return this.owner !== undefined && this.kind === Pools.resource.kind ? this.owner : null;
  }

  /** Undefined if the owner says nothing of the member. */
  flagsOf(member: string): PoolFlags | undefined {
    return this.#flags.get(member);
  }

  /** Gives each member its square. Returns those that have changed, by name; null for those that are gone. */
  redraw(own: readonly Revision[]): Map<string, VmCell | null> {
    const changed = new Map<string, VmCell | null>();
    this.#revisions = [...own];
    for (const { name, state, revision, role } of this.seats.values()) {
      const index = this.#indexOf(revision);
      const cell: VmCell = role === undefined ? [name, state, index] : [name, state, index, role];
      if (isSame(cell, this.cells.get(name))) continue;
      this.cells.set(name, cell);
      changed.set(name, cell);
    }
    for (const name of this.cells.keys()) {
      if (this.seats.has(name)) continue;
      this.cells.delete(name);
      changed.set(name, null);
    }
    return changed;
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
    for (const { name, role, state, isReady, isDown } of this.seats.values()) {
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
    for (const { name: vm, state, wait } of this.seats.values()) if (wait !== null) waits.push({ vm, state, ...wait });
    const cycles = this.pool?.status?.healing?.cycles ?? [];
    const gone = cycles.filter(({ vm }) => !this.seats.has(vm));
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
          since: claim?.at ?? this.seats.get(vm)?.downSince ?? null,
          until: claim === undefined || down.has(vm) ? null : new Date(Date.parse(claim.at) + CLAIM_MS).toISOString(),
        };
      }),
      useCount: names.length,
    };
  }
}

const isSame = (one: VmCell, other: VmCell | undefined): boolean =>
  other !== undefined && one.every((part, index) => part === other[index]) && one.length === other.length;

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
