import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReplicaSetSpec } from '../../../api/replica-set/replica-set.ts';
import { freeNames } from '../../../decisions/replica-sets/names.ts';
import { overlapsOf, overlaps } from '../../../decisions/replica-sets/overlaps.ts';
import { planReplicaSet, planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import type { StoredReplicaSet } from '../../../decisions/views/owner.ts';
import { aMember, anInstance, anInstanceSet, aSet, calm, still } from './sets.ts';
import { conditionOf, made, namesOf } from './steps.ts';

const [A, B, C] = namesOf(3) as [string, string, string];
const POOL = { kind: 'VirtualMachinePool', name: 'pool', uid: 'pool-uid' };

const told = (input: Partial<Parameters<typeof planReplicaSet>[0]>, set = aSet({ replicas: 1 })) =>
  conditionOf(planReplicaSet({ ...still, set, vms: [], ...input }).status, 'Overlapping');

/** A set of another name that matches, and makes, VMs with these labels. */
const another = (name: string, labels: Record<string, string>, metadata = {}): StoredReplicaSet =>
  aSet(
    {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { runStrategy: 'Always', template: {} } },
    },
    { name, uid: `${name}-uid`, ...metadata },
  );

test('a set that shares nothing with others says nothing', () => {
  const others = [another('db', { app: 'db' }), another('web', { app: 'web' }, { namespace: 'bank' })];
  expect(told({ sets: [aSet(), ...others], otherVms: [aMember('else', { owner: null })] })).toBeUndefined();
});

describe('the condition Overlapping', () => {
  test('names sets whose selectors match members of each other while they adopt', () => {
    const other = another('canary', { app: 'web', track: 'canary' });
    expect(told({ sets: [aSet(), other] })).toEqual({
      type: 'Overlapping',
      status: 'True',
      reason: 'OverlappingSelectors',
      message: "its selector and those of canary match each other's VMs: each of them adopts VMs that nothing controls",
      lastTransitionTime: '1970-01-01T00:00:00.000Z',
    });
    expect(told({ sets: [aSet(), other] }, other)).toMatchObject({ message: expect.stringContaining('web') as string });
    const going = another('canary', { app: 'web' }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(told({ sets: [aSet(), going] })).toBeUndefined();
  });

  test('names VMs that match and that something else controls, such as a VM that was taken from the set', () => {
    expect(
      told({ otherVms: [aMember(A, { owner: POOL }), aMember('else', { owner: POOL, ownLabels: {} })] }),
    ).toMatchObject({
      reason: 'ControlledByOthers',
      message: expect.stringContaining(`its selector matches VMs that others control: ${A}`) as string,
    });
  });

  test('names the names that the set would give, and skips', () => {
    const otherVms = [aMember(B, { owner: null, ownLabels: {} })];
    expect(told({ otherVms }, aSet({ replicas: 2 }))).toMatchObject({
      reason: 'NamesTaken',
      message: `names that it skips, since other objects have them: ${B}`,
    });
    // The set has no use for the second name.
    expect(told({ otherVms }, aSet({ replicas: 1 }))).toBeUndefined();
    expect(told({ otherVms }, aSet({ replicas: 0 }))).toBeUndefined();
  });

  test('names everything, in a few words', () => {
    const vms = namesOf(900).map((name) => aMember(name, { owner: POOL }));
    const sets = Array.from({ length: 900 }, (_, index) => another(`set-${index}-with-a-long-name`, { app: 'web' }));
    const { message = '' } = told({ sets, otherVms: vms }, aSet({ replicas: 900 })) ?? {};
    expect(message).toMatch(/its selector and .* \(900\) .*; its selector matches .* \(900\); names .* \(900\)$/);
    expect(message.length).toBeLessThan(2_049);
  });
});

test('reports the same for a set of VMIs, with VMIs, and with VMs of their names', () => {
  const input = { ...calm, set: anInstanceSet({ replicas: 2 }), vmis: [] };
  const planned = planVmiSet({
    ...input,
    sets: [anInstanceSet({}, { name: 'other', uid: 'other' })],
    otherVmis: [anInstance('theirs', { owner: { ...POOL, kind: 'VirtualMachineInstanceReplicaSet.kubevirt.io' } })],
    otherVms: [aMember(A, { owner: null }), aMember('else', { owner: POOL })],
    isVmNameTaken: (name) => name === A,
  });
  expect(made(planned.steps)).toEqual([B, C]);
  expect(conditionOf(planned.status, 'Overlapping')?.message).toBe(
    "its selector and those of other match each other's VMIs: each of them adopts VMIs that nothing controls; " +
      `its selector matches VMIs that others control: theirs; names that it skips, since other objects have them: ${A}`,
  );
});

test('ignores a set that is being deleted', () => {
  const set = aSet({ replicas: 1 }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  expect(told({ otherVms: [aMember(A, { owner: POOL })] }, set)).toBeUndefined();
});

const labels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'), { minKeys: 1, maxKeys: 3 });

test('appears on both of two sets, or on neither', () => {
  fc.assert(
    fc.property(labels, labels, (a, b) => {
      const [first, second] = [another('first', a), another('second', b)];
      expect(overlaps(first, second)).toBe(overlaps(second, first));
      expect(overlaps(first, first)).toBe(false);
    }),
  );
});

test('names as skipped the names that the next members would have had', () => {
  const spec: Partial<ReplicaSetSpec> = { replicas: 20 };
  const all = namesOf(60);
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...all)), (taken) => {
      const { names } = overlapsOf(
        aSet(spec),
        [],
        taken.map((name) => ({ name, labels: null })),
      );
      const given = freeNames({ name: 'web', uid: 'set-uid' }, 20, (name) => taken.includes(name));
      expect(names).toEqual(all.slice(0, all.indexOf(given.at(-1)!)).filter((name) => taken.includes(name)));
    }),
  );
});
