import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DisruptedVm, PoolStatus } from '../../../api/pool/pool.ts';
import { activeClaims, claimVersions, type ClaimContext } from '../../../decisions/disruption-budget/claims.ts';
import { grantClaims } from '../../../decisions/disruption-budget/grant-claims.ts';
import { maxVersions, type ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from '../fixtures/fleets.ts';

/**
 * Workers with caches of different age that disrupt VMs of one pool: each claims a place, acts on it later, and drops
 * the claims of VMs that it has seen down.
 */

const VMS = 4;
const MAX_UNAVAILABLE = 2;
const AT = '2026-11-22T07:00:00.000Z';

/** A VM as it was at some time: which VMI it has, and whether that is ready. */
interface At {
  vmi: number;
  ready: boolean;
  /** Version of its last change. */
  since: number;
}

type Fleet = readonly At[];

/** What the API server has: all VMs at each version, and the pool's status. */
class Cluster {
  readonly versions: Fleet[] = [Array.from({ length: VMS }, () => ({ vmi: 0, ready: true, since: 0 }))];
  status: Pick<PoolStatus, 'disruptedVMs' | 'disruptionsSeen'> = {};

  get now(): Fleet {
    return this.versions.at(-1)!;
  }

  set(index: number, at: Omit<At, 'since'>): void {
    this.versions.push(this.now.with(index, { ...at, since: this.versions.length }));
  }
}

const nameOf = (index: number): string => `web-${index}`;
const uidOf = (index: number, vmi: number): string => `vmi-${index}-${vmi}`;

/** One worker, whose caches are as they were at some version. */
class Worker {
  version = 0;
  /** What it was allowed to do, and has not done yet. */
  readonly granted: { index: number; seen: At }[] = [];
  readonly #cluster: Cluster;
  readonly #by: string;
  readonly #heedsFloor: boolean;

  constructor(cluster: Cluster, by: string, heedsFloor: boolean) {
    this.#cluster = cluster;
    this.#by = by;
    this.#heedsFloor = heedsFloor;
  }

  /** As the activity does: reads the pool, catches up with its claims, and writes those that stand with its own. */
  claim(index: number): void {
    const { status } = this.#cluster;
    const floor = this.#heedsFloor ? (status.disruptionsSeen ?? {}) : {};
    this.#catchUp(maxVersions(claimVersions(status.disruptedVMs ?? []), floor));
    const context = this.#context();
    const active = activeClaims(context, () => false);
    const stand = active.filter(({ state }) => state !== 'down').map(({ claim }) => claim);
    const vm = context.vms[index]!;
    const vmi = context.vmiOf(vm)!;
    const { claims, answers } = grantClaims(context, stand, [{ vm, vmi, by: this.#by }], AT);
    if (answers[0] !== null) return;
    const seen = { vms: String(this.version), vmis: String(this.version) };
    this.#cluster.status = {
      ...status,
      disruptedVMs: claims,
      ...(stand.length < active.length && { disruptionsSeen: seen }),
    };
    this.granted.push({ index, seen: this.#cluster.versions[this.version]![index]! });
  }

  /** Ends the VMI that it was to end, if it is still there; one that was not ready, only if it is as it was. */
  act(): void {
    const next = this.granted.shift();
    if (next === undefined) return;
    const { index, seen } = next;
    const now = this.#cluster.now[index]!;
    const isSame = seen.ready ? now.vmi === seen.vmi : now.since === seen.since;
    if (isSame) this.#cluster.set(index, { vmi: now.vmi + 1, ready: false });
  }

  #catchUp({ vms = '0', vmis = '0' }: ResourceVersions): void {
    this.version = Math.max(this.version, Number(vms), Number(vmis));
  }

  #context(): ClaimContext {
    const fleet = this.#cluster.versions[this.version]!;
    const vms = fleet.map(({ ready, since }, index) => aVm(nameOf(index), { ready, resourceVersion: String(since) }));
    const vmis = new Map<string, VmiView>(
      fleet.map(({ vmi, ready, since }, index) => [
        nameOf(index),
        aVmi(vms[index]!, { uid: uidOf(index, vmi), ready, resourceVersion: String(since) }),
      ]),
    );
    const pool = {
      ...aPool({ replicas: VMS, maxUnavailable: MAX_UNAVAILABLE }),
      status: { replicas: VMS, ...this.#cluster.status },
    };
    return { pool, vms, vmiOf: (vm: VmView) => vmis.get(vm.name) };
  }
}

type Move =
  | { do: 'claim'; worker: number; vm: number }
  | { do: 'act'; worker: number }
  | { do: 'look'; worker: number }
  | { do: 'come back'; vm: number };

const worker = fc.nat({ max: 1 });
const vm = fc.nat({ max: VMS - 1 });
const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('claim' as const), worker, vm }),
    fc.record({ do: fc.constant('act' as const), worker }),
    fc.record({ do: fc.constant('look' as const), worker }),
    fc.record({ do: fc.constant('come back' as const), vm }),
  ),
  { minLength: 10, maxLength: 40, size: 'max' },
);

/** Returns the most VMs that were down at once. */
function play(all: readonly Move[], heedsFloor = true): number {
  const cluster = new Cluster();
  const workers = ['power/default/one', 'power/default/two'].map((by) => new Worker(cluster, by, heedsFloor));
  let most = 0;
  for (const move of all) {
    if (move.do === 'claim') workers[move.worker]!.claim(move.vm);
    else if (move.do === 'act') workers[move.worker]!.act();
    else if (move.do === 'look') workers[move.worker]!.version = cluster.versions.length - 1;
    else if (!cluster.now[move.vm]!.ready) cluster.set(move.vm, { ...cluster.now[move.vm]!, ready: true });
    most = Math.max(most, cluster.now.filter(({ ready }) => !ready).length);
  }
  return most;
}

const claim = (of: number, index: number): Move => ({ do: 'claim', worker: of, vm: index });

test('at most as many VMs are down as allowed, however old the caches of the claiming workers are', () => {
  fc.assert(
    fc.property(moves, (all) => play(all) <= MAX_UNAVAILABLE),
    { numRuns: 3_000 },
  );
});

test('a worker that knows less than the one that dropped a claim would break the budget', () => {
  const both: Move[] = [0, 1].flatMap((index): Move[] => [claim(0, index), { do: 'act', worker: 0 }]);
  const droppedByOne: Move[] = [
    ...both,
    { do: 'look', worker: 0 },
    { do: 'come back', vm: 0 },
    { do: 'look', worker: 0 },
  ];
  const all: Move[] = [...droppedByOne, claim(0, 2), { do: 'act', worker: 0 }, claim(1, 3), { do: 'act', worker: 1 }];
  expect(play(all)).toBe(MAX_UNAVAILABLE);
  expect(play(all, false)).toBeGreaterThan(MAX_UNAVAILABLE);
});

test('claims of VMs that are down are not kept', () => {
  const claims: DisruptedVm[] = [{ vm: nameOf(0), vmi: uidOf(0, 0), by: 'power/default/one', at: AT }];
  const pool = { ...aPool({ replicas: 1 }), status: { replicas: 1, disruptedVMs: claims } };
  const down = aVm(nameOf(0), { ready: false });
  const stateWith = (vmi: VmiView | undefined, of = down): string[] =>
    activeClaims({ pool, vms: [of], vmiOf: () => vmi }, () => false).map(({ state }) => state);
  expect(stateWith(aVmi(down, { uid: uidOf(0, 1), ready: false }))).toEqual(['down']);
  expect(stateWith(undefined)).toEqual(['down']);
  // Not by this claim: it may come up before the claim is acted on.
  expect(stateWith(aVmi(down, { uid: uidOf(0, 0), ready: false }))).toEqual(['unused']);
});
