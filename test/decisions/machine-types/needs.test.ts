import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import { TransitionNeeds } from '../../../decisions/machine-types/needs.ts';
import type { NotRetried } from '../../../decisions/machine-types/not-retried.ts';
import type { TransitionRules } from '../../../decisions/machine-types/transition-rules.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import { ModelCluster } from './model-cluster.ts';
import {
  anOldVm,
  aPoolVm,
  aTransition,
  aTypedPool,
  ID,
  NEW,
  OLD,
  OTHER,
  OTHER_RUNS,
  recordOfOurs,
  rulesOf,
  snapshotOf,
} from './snapshots.ts';

/** Tells a transition's needs all that has changed since it was asked last, as a worker's caches do. */
class Watch {
  readonly #cluster: ModelCluster;
  #vms = new Map<string, VmView>();
  #vmis = new Map<string, VmiView>();
  #pool: ModelCluster['pool'];
  readonly needs: TransitionNeeds;

  constructor(cluster: ModelCluster, rules: TransitionRules) {
    this.#cluster = cluster;
    this.#pool = cluster.pool;
    this.needs = new TransitionNeeds(rules, cluster.snapshot);
    this.#keep();
  }

  tell(): void {
    const { vms, vmis, pool } = this.#cluster;
    for (const key of new Set([...vms.keys(), ...this.#vms.keys(), ...vmis.keys(), ...this.#vmis.keys()])) {
      const before = this.#vms.get(key);
      if (vms.get(key) !== before) this.needs.vmChanged(key, before);
      else if (vmis.get(key) !== this.#vmis.get(key)) this.needs.vmChanged(key);
    }
    if (pool !== this.#pool) this.needs.poolChanged(namespacedName(pool.metadata));
    this.#keep();
  }

  #keep(): void {
    const { vms, vmis, pool } = this.#cluster;
    [this.#vms, this.#vmis, this.#pool] = [new Map(vms), new Map(vmis), pool];
  }
}

const sorted = (names: Iterable<unknown>): string[] => [...names].map((one) => JSON.stringify(one)).sort();

/** What is known, whatever the order in which it was learnt. */
function known(needs: TransitionNeeds): unknown {
  const { tally, pools, others, changesPools } = needs;
  return {
    pools,
    changesPools,
    others: sorted(others),
    counts: tally.counts,
    skipped: sorted(tally.skipped(99).map((one) => ({ ...one, vms: one.vms.toSorted() }))),
    groups: sorted(tally.groups.map(({ group, vms }) => ({ group, vms }))),
    sets: [tally.patch, tally.unlabel, tally.limited, tally.restarts, tally.failures].map(sorted),
    candidates: sorted(tally.candidates(() => false)),
  };
}

type Change = (cluster: ModelCluster, key: string, at: number) => void;
const CHANGES: Record<string, Change> = {
  up: (cluster, key) => cluster.comeUp(key),
  restart: (cluster, key) => cluster.restart(key),
  'old type': (cluster, key) => cluster.setType(key, OLD),
  'new type': (cluster, key) => cluster.setType(key, NEW),
  alias: (cluster, key) => cluster.setType(key, 'q35'),
  changed: (cluster, key) => cluster.change(key, { machineType: NEW, transition: recordOfOurs(), transitionLabel: ID }),
  unmarked: (cluster, key) => cluster.change(key, { transitionLabel: null }),
  'of another': (cluster, key) =>
    cluster.change(key, { transition: recordOfOurs({ id: OTHER }), transitionLabel: OTHER }),
  halt: (cluster, key) => cluster.halt(key),
  pause: (cluster, key) => cluster.change(key, {}, { pause: BY_USER }),
  snapshot: (cluster, key) => cluster.change(key, { operations: SNAPSHOT }),
  exempt: (cluster, key) => cluster.change(key, { optedOut: true }),
  leaves: (cluster, key) => cluster.change(key, { owner: null }),
  joins: (cluster, key) => cluster.change(key, { owner: aPoolVm(1, cluster.pool).owner }),
  goes: (cluster, key) => cluster.change(key, { deleting: true }),
  'is gone': (cluster, key) => cluster.remove(key),
  'is made': (cluster, _key, at) => cluster.add(anOldVm(`new-${at}`, { uid: `uid-new-${at}-${cluster.now++}` })),
  'is made by the pool': (cluster, _key, at) => cluster.add(aPoolVm(100 + at, cluster.pool)),
  'old template': (cluster) => cluster.setTemplate(OLD),
  'template without a type': (cluster) => cluster.setTemplate(null),
  'template changed': (cluster) => cluster.setTemplate(NEW, recordOfOurs()),
  'template changed by another': (cluster) => cluster.setTemplate(NEW, recordOfOurs({ id: OTHER })),
  rolls: (cluster) => cluster.rollPool(),
  'cannot update': (cluster, key) => {
    const { pool } = cluster;
    const failures = [{ vm: key.slice(key.indexOf('/') + 1), message: 'not ready', at: '' }];
    const revision = String(pool.status?.updateRevision);
    const rollout = { revision, startedAt: '', batches: 1, lastBatch: 1, step: 0, failures };
    cluster.pool = { ...pool, status: { ...pool.status!, rollout } };
  },
};

const anyHappening = fc.record({
  changes: fc.array(fc.record({ what: fc.constantFrom(...Object.keys(CHANGES)), at: fc.nat(20) }), { maxLength: 4 }),
  held: fc.array(fc.nat(20), { maxLength: 3 }),
  failed: fc.array(fc.record({ at: fc.nat(20), wasAvailable: fc.boolean(), keepsMark: fc.boolean() }), {
    maxLength: 3,
  }),
  hasPoolFailed: fc.boolean(),
});

test('needs that are kept by difference equal those of a look at all VMs, whatever changes', () => {
  fc.assert(
    fc.property(
      fc.array(anyHappening, { minLength: 1, maxLength: 20 }),
      fc.constantFrom(null, OTHER),
      fc.boolean(),
      fc.constantFrom(null, 'running' as const),
      (happenings, undoes, isOtherRunning, only) => {
        const pool = aTypedPool(OLD, { replicas: 3 });
        const vms = [1, 2, 3].map((number) => aPoolVm(number, pool));
        const cluster = new ModelCluster([...vms, ...['a', 'b', 'c', 'd'].map((name) => anOldVm(name))], pool, {
          defaultType: NEW,
          aliased: NEW,
        });
        const transition = aTransition({ scope: { undoes, only, exclude: ['d'] } });
        const rules = (): TransitionRules =>
          rulesOf(transition, { othersRunning: isOtherRunning ? OTHER_RUNS : new Map() });
        const watch = new Watch(cluster, rules());
        for (const { changes, held, failed, hasPoolFailed } of happenings) {
          const nameAt = (at: number): string =>
            [...cluster.vms.keys()][at % Math.max(cluster.vms.size, 1)] ?? 'shop/a';
          for (const { what, at } of changes) CHANGES[what]!(cluster, nameAt(at), at);
          watch.tell();
          const failures = failed.map(({ at, wasAvailable, keepsMark }): NotRetried => {
            return { vm: nameAt(at), wasAvailable, ...(keepsMark ? { keepsLabel: keepsMark } : {}) };
          });
          const touched = {
            inProgress: new Set(held.map(nameAt)),
            failed: [...failures, ...(hasPoolFailed ? [{ vm: 'pool shop/web', wasAvailable: false }] : [])],
          };
          watch.needs.follow(touched);
          const fresh = new TransitionNeeds(rules(), cluster.snapshot);
          fresh.follow(touched);
          expect(known(watch.needs)).toEqual(known(fresh));
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('other transitions are those that have left something on VMs', () => {
  const vms = [
    anOldVm('a'),
    anOldVm('b', { transitionLabel: OTHER }),
    anOldVm('c', { transition: recordOfOurs({ id: '77777777' }) }),
    anOldVm('d', { transitionLabel: ID }),
  ];
  expect([...new TransitionNeeds(rulesOf(aTransition()), snapshotOf(vms)).others].sort()).toEqual(['77777777', OTHER]);
});
