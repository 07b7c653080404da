import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planReplicaSet } from '../../../decisions/replica-sets/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { backoffFor } from '../fixtures/backoffs.ts';
import { aVmi } from '../fixtures/fleets.ts';
import { aMember, aSet, still } from './sets.ts';

/**
 * A set and its VMs on an API server that refuses a second VM of a name, with workers whose creates may be carried out
 * at any later time, although they were given up. Each plan sees all VMs that exist by then.
 */
class World {
  readonly set;
  vms = new Map<string, VmView>();
  /** VMs that were the set's, and run on. */
  released = new Map<string, VmView>();
  creating = new Set<string>();
  uncertain: string[] = [];
  /** Creates that nobody waits for any more. They may still be carried out. */
  late: string[] = [];

  constructor(replicas: number) {
    this.set = aSet({ replicas });
  }

  plan(allowance = 250): void {
    const held = (name: string): boolean => this.released.has(name);
    const { steps, uncertain } = planReplicaSet({
      ...still,
      set: this.set,
      vms: [...this.vms.values()],
      vmiOf: (vm) => aVmi(vm),
      isVmNameTaken: held,
      inProgress: { creating: [...this.creating], deleting: [] },
      uncertain: this.uncertain,
      backoffs: backoffFor('FailedCreate', { allowance }),
    });
    this.uncertain = uncertain;
    for (const step of steps) {
      if (step.kind === 'createReplicas') for (const name of step.names) this.creating.add(name);
      else if (step.kind === 'release')
        for (const { name } of step.vms) {
          this.released.set(name, { ...this.vms.get(name)!, owner: null });
          this.vms.delete(name);
        }
      else if (step.kind === 'delete')
        for (const { name } of step.vms) this.vms.set(name, { ...this.vms.get(name)!, deleting: true });
    }
  }

  create(name: string): void {
    if (!this.vms.has(name) && !this.released.has(name)) this.vms.set(name, aMember(name));
    expect(this.vms.size, 'VMs at once').toBeLessThanOrEqual(this.set.spec.replicas);
  }
}

type Act = (world: World, nth: number) => void;
const nthOf = <T>(items: Iterable<T>, nth: number): T | undefined => {
  const all = [...items];
  return all[nth % Math.max(all.length, 1)];
};

const ACTS: Record<string, Act> = {
  plan: (world) => world.plan(),
  planLittle: (world) => world.plan(1),
  answered: (world, nth) => {
    const name = nthOf(world.creating, nth);
    if (name === undefined) return;
    world.create(name);
    world.creating.delete(name);
    world.uncertain = world.uncertain.filter((one) => one !== name);
  },
  /** The worker dies, or its call is never answered. */
  givenUp: (world, nth) => {
    const name = nthOf(world.creating, nth);
    if (name === undefined) return;
    world.creating.delete(name);
    world.uncertain = [...new Set([...world.uncertain, name])];
    world.late.push(name);
  },
  comesLate: (world, nth) => {
    const name = nthOf(world.late, nth);
    if (name === undefined) return;
    world.late.splice(world.late.indexOf(name), 1);
    world.create(name);
  },
  relabelled: (world, nth) => {
    const name = nthOf(world.vms.keys(), nth);
    if (name !== undefined) world.vms.set(name, { ...world.vms.get(name)!, ownLabels: {} });
  },
  releasedGoes: (world, nth) => void world.released.delete(nthOf(world.released.keys(), nth) ?? ''),
  deletedByPerson: (world, nth) => {
    const name = nthOf(world.vms.keys(), nth);
    if (name !== undefined) world.vms.set(name, { ...world.vms.get(name)!, deleting: true });
  },
  gone: (world, nth) => {
    const name = nthOf(
      [...world.vms.values()].filter(({ deleting }) => deleting),
      nth,
    )?.name;
    if (name !== undefined) world.vms.delete(name);
  },
};

const acts = fc.array(fc.tuple(fc.constantFrom(...Object.keys(ACTS)), fc.nat(20)), { maxLength: 80 });

test('a set never has more VMs than replicas, however late abandoned creates are carried out', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4 }), acts, (replicas, chosen) => {
      const world = new World(replicas);
      for (const [act, nth] of chosen) ACTS[act]!(world, nth);
    }),
    { numRuns: 3_000 },
  );
});

test('an abandoned create holds its place, even if a name before it has become free since', () => {
  const world = new World(1);
  for (const act of ['plan', 'answered', 'relabelled', 'plan', 'plan', 'givenUp', 'releasedGoes', 'plan', 'answered'])
    ACTS[act]!(world, 0);
  expect(world.late).toHaveLength(1);
  ACTS['comesLate']!(world, 0);
  expect(world.vms.size).toBe(1);
});

test('the set has as many VMs as it wants once calls are answered, whatever happened before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4 }), acts, (replicas, chosen) => {
      const world = new World(replicas);
      for (const [act, nth] of chosen) ACTS[act]!(world, nth);
      for (let turn = 0; turn < 40; turn++) for (const act of ['plan', 'answered', 'gone']) ACTS[act]!(world, 0);
      expect(world.vms.size).toBe(replicas);
      expect([...world.vms.values()].every(({ deleting, ownLabels }) => !deleting && ownLabels['app'] === 'web')).toBe(
        true,
      );
    }),
    { numRuns: 500 },
  );
});
