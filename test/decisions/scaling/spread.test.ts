import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScaleInSelectionPolicy } from '../../../api/pool/pool.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { spreadOut } from '../../../decisions/scaling/spread.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

interface Member {
  id: number;
  place: string | null;
  rank: number;
}

const anyMembers: fc.Arbitrary<Member[]> = fc
  .array(fc.record({ place: fc.constantFrom('a', 'b', 'c', null), rank: fc.nat(2) }), { maxLength: 9 })
  .map((all) => all.map((one, id) => ({ id, ...one })).toSorted((a, b) => a.rank - b.rank));
const spread = (ordered: readonly Member[], staying: readonly Member[] = []): Member[] =>
  spreadOut(ordered, {
    areEqual: (a, b) => a.rank === b.rank,
    domainOf: ({ place }) => place,
    staying,
  });

/** How unevenly members are spread: the less, the better. */
function unevenness(members: readonly Member[]): number {
  const counts = Map.groupBy(
    members.filter(({ place }) => place !== null),
    ({ place }) => place,
  );
  return [...counts.values()].reduce((sum, { length }) => sum + length ** 2, 0);
}

/** All sets of so many members of which no other member of a lower rank stays. */
function choices(ordered: readonly Member[], count: number): Member[][] {
  if (count === 0) return [[]];
  const last = ordered[count - 1]!.rank;
  const surely = ordered.filter(({ rank }) => rank < last);
  const pick = (from: readonly Member[], left: number): Member[][] =>
    left === 0
      ? [[]]
      : from.flatMap((one, index) => pick(from.slice(index + 1), left - 1).map((others) => [one, ...others]));
  const some = pick(
    ordered.filter(({ rank }) => rank === last),
    count - surely.length,
  );
  return some.map((others) => [...surely, ...others]);
}

describe('the rest of a pool after some VMs leave', () => {
  test('is spread as evenly as the ranks allow, however many leave', () => {
    fc.assert(
      fc.property(anyMembers, anyMembers, fc.nat(9), (ordered, staying, some) => {
        const count = Math.min(some, ordered.length);
        const left = spread(ordered, staying).slice(count);
        const after = unevenness([...left, ...staying]);
        const best = choices(ordered, count).map((gone) =>
          unevenness([...ordered.filter((one) => !gone.includes(one)), ...staying]),
        );
        // A member on no place leaves a place no less crowded: it goes only when no other of its rank is left.
        expect(after).toBe(Math.min(...best));
      }),
    );
  });

  test('keeps the ranks, and all members', () => {
    fc.assert(
      fc.property(anyMembers, (ordered) => {
        const all = spread(ordered);
        expect(all.map(({ rank }) => rank)).toEqual(ordered.map(({ rank }) => rank));
        expect(all.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(ordered.map((_, id) => id));
      }),
    );
  });

  test('follows the given order if places are equally crowded', () => {
    const members = ['a', 'b', 'a', 'b'].map((place, id) => ({ id, place, rank: 0 }));
    expect(spread(members).map(({ id }) => id)).toEqual([0, 1, 2, 3]);
  });
});

const count = (names: readonly string[], placeOf: (name: string) => string): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, placeOf)].map(([place, { length }]) => [place, length]));

describe('a spread of scale-in', () => {
  const nodes: Record<string, string> = {
    'web-1': 'n1',
    'web-2': 'n1',
    'web-3': 'n2',
    'web-4': 'n3',
    'web-5': 'n3',
    'web-6': 'n3',
  };
  const zones: Record<string, string> = { n1: 'east', n2: 'east', n3: 'west' };
  const vms = Object.keys(nodes).map((name, createdAt) => aVm(name, { createdAt }));
  const left = (policy: ScaleInSelectionPolicy, replicas: number, all: readonly VmView[] = vms): string[] => {
    const scaleInStrategy = { proactive: { selectionPolicy: policy } };
    const { steps } = planPool({
      ...quiet,
      pool: aPool({ replicas, scaleInStrategy }),
      vms: all,
      vmiOf: (vm) => aVmi(vm, { node: nodes[vm.name]! }),
      zoneOf: (node) => zones[node] ?? null,
      burst: 250,
    });
    const gone = steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map(({ name }) => name) : []));
    return vms.map(({ name }) => name).filter((name) => !gone.includes(name));
  };

  test('goes over nodes, whatever the base policy', () => {
    for (const basePolicy of ['Random', 'Oldest', 'Newest'] as const) {
      const names = left({ basePolicy, spread: 'node' }, 3);
      expect(count(names, (name) => nodes[name]!)).toEqual({ n1: 1, n2: 1, n3: 1 });
    }
    expect(left({ basePolicy: 'Oldest', spread: 'node' }, 3)).toEqual(['web-2', 'web-3', 'web-6']);
  });

  test('goes over zones, by the labels of the nodes', () => {
    const names = left({ spread: 'zone' }, 4);
    expect(count(names, (name) => zones[nodes[name]!]!)).toEqual({ east: 2, west: 2 });
  });

  test('counts VMs that may not leave', () => {
    const kept = vms.map((vm) => ({ ...vm, protected: vm.name === 'web-4' || vm.name === 'web-5' }));
    expect(left({ basePolicy: 'Oldest', spread: 'node' }, 5, kept)).not.toContain('web-6');
  });

  test('comes after what is broken and after label selectors', () => {
    const broken = vms.map((vm) => (vm.name === 'web-3' ? { ...vm, ready: false, startFailures: 3 } : vm));
    expect(left({ spread: 'node' }, 5, broken)).not.toContain('web-3');
    const labelled = vms.map((vm) => (vm.name === 'web-3' ? { ...vm, labels: { tier: 'spare' } } : vm));
    const orderedPolicies = [{ labelSelector: { matchLabels: { tier: 'spare' } } }];
    expect(left({ orderedPolicies, spread: 'node' }, 5, labelled)).not.toContain('web-3');
  });
});
