import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BLOCKS_FOR_MS, RemovalLimit, type Leaving } from '../../../decisions/owners/removal-limit.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { planReplicaSet, planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { failed } from '../fixtures/backoffs.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';
import { aMember, anInstance, anInstanceSet, aSet, calm, still } from '../replica-sets/sets.ts';
import { conditionOf } from '../replica-sets/steps.ts';

const BEGINNING = 1_000_000;
/** How long a VMI takes to end that does. */
const STOP_MS = 30_000;

/**
 * `ends`: goes within `STOP_MS`; `hangs`: never goes; `lost`: its node does not answer, so that it never goes either.
 */
type Nature = 'ends' | 'hangs' | 'lost';

interface Member {
  name: string;
  nature: Nature;
  /** When it was asked to go; null if it was not. */
  askedAt: number | null;
}

/** What a plan asks, and when to plan again. */
interface Turn {
  asked: readonly string[];
  requeueAt: number | null;
  /** How many members wait, by the status. */
  waiting: number;
}

interface Run {
  natures: readonly Nature[];
  burst: number;
  /** How many are to go. */
  leaving: number;
  plan: (members: readonly Member[], now: number, burst: number) => Turn;
}

/** Plays plans until as many have been asked as are to go. Returns how long that took, in milliseconds. */
function playLeaving({ natures, burst, leaving, plan }: Run): number {
  let members = natures.map((nature, index): Member => ({ name: `web-${index + 1}`, nature, askedAt: null }));
  let asked = 0;
  let now = BEGINNING;
  for (let turn = 0; turn <= 10 * natures.length + 10; turn++) {
    const found = plan(members, now, burst);
    for (const member of members) {
      if (member.askedAt !== null || !found.asked.includes(member.name)) continue;
      member.askedAt = now;
      asked++;
    }
    const holding = members.filter(
      ({ nature, askedAt }) => askedAt !== null && nature !== 'lost' && askedAt + BLOCKS_FOR_MS > now,
    );
    expect(holding.length, 'stopping at once').toBeLessThanOrEqual(burst);
    expect(found.waiting, 'waiting, by the status').toBe(leaving - asked);
    if (asked === leaving) return now - BEGINNING;
    const ends = members.flatMap(({ nature, askedAt }) =>
      askedAt === null || nature !== 'ends' ? [] : [askedAt + STOP_MS],
    );
    const next = Math.min(found.requeueAt ?? Infinity, ...ends);
    // Members whose end nothing tells of, as those on lost nodes, are noticed as terminating.
    const isNoticed = found.asked.length > 0;
    expect(isNoticed || next > now, 'it goes on').toBe(true);
    expect(isNoticed || next < Infinity, 'something wakes it').toBe(true);
    if (!isNoticed) now = next;
    members = members.filter(({ nature, askedAt }) => nature !== 'ends' || askedAt === null || askedAt + STOP_MS > now);
  }
  throw new Error('it does not end');
}

const anyRun = fc.record({
  natures: fc.array(fc.constantFrom<Nature>('ends', 'hangs', 'lost'), { minLength: 1, maxLength: 40 }),
  burst: fc.integer({ min: 1, max: 8 }),
});

/** Checks that all are asked in time, however many of them hang. */
function check(run: Run): void {
  const tookMs = playLeaving(run);
  expect(tookMs).toBeLessThanOrEqual(Math.ceil(run.leaving / run.burst) * BLOCKS_FOR_MS);
}

const waitingIn = (status: { conditions?: { type: string; message?: string }[] } | null): number =>
  Number(/(\d+) more waits? to be deleted/.exec(conditionOf(status, 'Progressing')?.message ?? '')?.[1] ?? 0);

const deletedAt = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const names = (steps: readonly { kind: string; vms?: { name: string }[] }[]): string[] =>
  steps.flatMap(({ kind, vms = [] }) => (kind === 'delete' || kind === 'halt' ? vms.map(({ name }) => name) : []));

const leavingVm = ({ nature, askedAt }: Member): Partial<VmView> => ({
  ...(askedAt === null ? {} : { deleting: true, leavingSince: askedAt }),
  ...(nature === 'lost' ? { ready: false } : {}),
});
const vmiOfMember =
  (members: readonly Member[]) =>
  (vm: VmView): VmiView =>
    aVmi(vm, { nodeLost: members.some(({ name, nature }) => name === vm.name && nature === 'lost') });

const planOfPool =
  (wanted: number | 'deleted', isOffline = false): Run['plan'] =>
  (members, now, burst) => {
    const scaleInStrategy = { proactive: isOffline ? { statePreservation: 'Offline' as const } : {} };
    const pool = aPool(
      { replicas: wanted === 'deleted' ? members.length : wanted, scaleInStrategy },
      wanted === 'deleted' ? deletedAt : {},
    );
    const vms = members.map((member) => {
      const vm = aVm(member.name, leavingVm(member));
      return isOffline && vm.deleting ? { ...vm, deleting: false, removing: true, runStrategy: 'Halted' } : vm;
    });
    const plan = planPool({ ...quiet, pool, vms, vmiOf: vmiOfMember(members), now, burst });
    return { asked: names(plan.steps), requeueAt: plan.requeueAt, waiting: waitingIn(plan.status) };
  };

const planOfSet =
  (wanted: number | 'deleted'): Run['plan'] =>
  (members, now, burst) => {
    const set = aSet(
      { replicas: wanted === 'deleted' ? members.length : wanted },
      wanted === 'deleted' ? deletedAt : {},
    );
    const vms = members.map((member) => aMember(member.name, leavingVm(member)));
    const plan = planReplicaSet({ ...still, set, vms, vmiOf: vmiOfMember(members), now, burst });
    return { asked: names(plan.steps), requeueAt: plan.requeueAt, waiting: waitingIn(plan.status) };
  };

const planOfVmiSet: Run['plan'] = (members, now, burst) => {
  const set = anInstanceSet({ replicas: members.length }, deletedAt);
  const vmis = members.map(({ name, nature, askedAt }) =>
    anInstance(name, { deleting: askedAt !== null, deletingSince: askedAt, nodeLost: nature === 'lost' }),
  );
  const plan = planVmiSet({ ...calm, set, vmis, now, burst });
  return { asked: names(plan.steps), requeueAt: plan.requeueAt, waiting: waitingIn(plan.status) };
};

describe('every member that is to leave is asked to in bounded time, however many others hang', () => {
  test.each<[string, Run['plan']]>([
    ['of a pool that is deleted', planOfPool('deleted')],
    ['of a pool that is scaled in', planOfPool(0)],
    ['of a pool that keeps their disks', planOfPool(0, true)],
    ['of a set of VMs that is deleted', planOfSet('deleted')],
    ['of a set of VMs that is scaled in', planOfSet(0)],
    ['of a set of VMIs that is deleted', planOfVmiSet],
  ])('%s', (_what, plan) =>
    fc.assert(fc.property(anyRun, ({ natures, burst }) => check({ natures, burst, leaving: natures.length, plan }))),
  );

  test('every member of a set of a thousand is asked to, though 300 are on a node that does not answer', () => {
    const natures = Array.from({ length: 1_000 }, (_, index): Nature => (index < 300 ? 'lost' : 'ends'));
    const tookMs = (leaving: number, plan: Run['plan']): number => playLeaving({ natures, burst: 250, leaving, plan });
    expect(tookMs(1_000, planOfSet('deleted'))).toBeLessThanOrEqual(3 * STOP_MS);
    expect(tookMs(900, planOfSet(100))).toBeLessThanOrEqual(3 * STOP_MS);
  });
});

test('members on nodes that do not answer leave last with their owner', () => {
  const natures: Nature[] = ['lost', 'ends', 'lost', 'ends'];
  const members = natures.map((nature, index): Member => ({ name: `web-${index + 1}`, nature, askedAt: null }));
  for (const plan of [planOfPool('deleted'), planOfSet('deleted'), planOfVmiSet])
    expect(plan(members, BEGINNING, 2).asked.toSorted()).toEqual(['web-2', 'web-4']);
});

const leaving = (name: string, since: number | null, isLost = false): Leaving => ({ name, since, isLost });

describe('room for members that leave', () => {
  const limits = { inProgress: { creating: [], deleting: ['a'] }, burst: 3, backoffs: {}, now: BEGINNING };

  test('is taken by members that were just asked to, or have been leaving for a short time on nodes that answer', () => {
    const going = [
      leaving('a', BEGINNING),
      leaving('b', BEGINNING - BLOCKS_FOR_MS + 1),
      leaving('c', BEGINNING - BLOCKS_FOR_MS),
      leaving('d', null),
      leaving('e', BEGINNING, true),
    ];
    const room = new RemovalLimit(going, limits);
    expect([room.admit(['x', 'y']), room.waiting, room.requeueAt]).toEqual([['x'], 1, BEGINNING + 1]);
  });

  test('needs no clock while nothing waits', () => {
    const room = new RemovalLimit([leaving('b', BEGINNING)], limits);
    expect([room.admit(['x']), room.waiting, room.requeueAt]).toEqual([['x'], 0, null]);
  });

  test('is one after a failure, whatever step it is for', () => {
    const room = new RemovalLimit([], { ...limits, backoffs: failed('FailedDelete', { allowance: 1 }) });
    expect([room.again(['x', 'y']), room.admit(['z'])]).toEqual([['x'], []]);
  });
});
