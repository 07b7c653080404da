import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CountedVms } from '../../../decisions/disruption-budget/counted-vms.ts';
import {
  namespacedName,
  RunBudget,
  type Chosen,
  type OwningPool,
  type VmsSnapshot,
} from '../../../decisions/disruption-budget/restart-budget.ts';
import { maxUnavailableOf, unavailability } from '../../../decisions/disruption-budget/unavailability.ts';
import { isDown, isActive } from '../../../decisions/health/availability.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import {
  outcomeOf,
  type OutcomeInput,
  type PowerOutcome,
  type Verification,
  type VmInProgress,
} from '../../../decisions/power/outcome.ts';
import { planPower, type PowerPlan, type PowerPlanInput } from '../../../decisions/power/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';

const NOBODYS = { owner: null };
const DEADLINE_MS = 600_000;

/** A pool whose rollout is over. */
function settledPool(spec: Partial<StoredPool['spec']> = {}, reason = 'Complete'): StoredPool {
  const pool = aPool(spec);
  const conditions = [{ type: 'Progressing', status: 'False' as const, reason }];
  return {
    ...pool,
    status: { replicas: pool.spec.replicas, updateRevision: revisionOf(pool.spec.template), conditions },
  };
}

interface Scene {
  vms: VmView[];
  vmis?: VmiView[];
  pool?: StoredPool;
}

function snapshotOf({ vms, vmis = vms.filter((vm) => vm.hasVmi).map((vm) => aVmi(vm)), pool }: Scene): VmsSnapshot {
  const byKey = new Map(vms.map((vm) => [namespacedName(vm), vm]));
  const vmiOfVm = new Map(vmis.map((vmi) => [vmi.vmUid, vmi]));
  return {
    vmOf: (key) => byKey.get(key),
    vmiOf: (vm) => vmiOfVm.get(vm.uid),
    poolOf: ({ owner }) => {
      const owned = (): VmView[] => vms.filter((vm) => vm.owner?.uid === owner?.uid);
      return pool === undefined || owner?.uid !== pool.metadata.uid ? undefined : { pool, vms: owned };
    },
  };
}

/** A pool with only this VM, and with no place left in its budget. */
function aFullPool(vm: VmView): OwningPool {
  const { metadata, ...pool } = settledPool({ replicas: 1, maxUnavailable: 0 });
  return {
    pool: { ...pool, metadata: { ...metadata, name: vm.name, uid: vm.name } },
    vms: () => [vm],
    claimed: () => ['another'],
  };
}

const chosenOf = (vms: VmView[]): Chosen => new Map(vms.map((vm) => [namespacedName(vm), aVmi(vm).uid]));

type Input = Partial<Omit<PowerPlanInput, 'inProgress'> & { inProgress: VmInProgress[] }>;

function plan(context: Scene, { inProgress = [], ...input }: Input = {}): PowerPlan {
  const snapshot = snapshotOf(context);
  const rest = {
    inProgress: new Set(inProgress.map(({ vm }) => vm)),
    action: 'Restart' as const,
    ended: new Set<string>(),
    whyNot: () => null,
    whyExcluded: () => null,
    atOnce: 1,
    mayStart: true,
    now: 1_000_000,
  };
  return planPower({ chosen: chosenOf(context.vms), snapshot, ...rest, ...input });
}

const held = (vm: VmView, fields: Partial<VmInProgress>): VmInProgress => ({
  vm: namespacedName(vm),
  uid: vm.uid,
  since: 1_000_000,
  ...fields,
});
const named = (count: number, fields: Partial<VmView> = NOBODYS): VmView[] =>
  Array.from({ length: count }, (_, index) => aVm(`vm-${index + 1}`, fields));

describe('a plan of a run', () => {
  test('takes no more VMs than the budget holds, and VMs that are already down come first and cost nothing', () => {
    const vms = named(6);
    expect(plan({ vms }, { atOnce: 2 }).admitted.length).toBe(2);
    const down = vms.map((vm, index) => (index < 2 ? { ...vm, ready: false } : vm));
    const found = plan({ vms: down }, { atOnce: 2 });
    expect(found.admitted.map(({ vm }) => vm).sort()).toEqual(['shop/vm-1', 'shop/vm-2']);
    expect(found.admitted.every(({ wasDown }) => wasDown)).toBe(true);
    expect(found.full).toEqual(['2 at a time']);
    expect(plan({ vms: down }, { atOnce: 3 }).admitted.length).toBe(3);
  });

  test('counts a chosen VM that is down by itself, also when it needs no restart any more', () => {
    const vms = named(3);
    const [other, ...rest] = vms as [VmView, ...VmView[]];
    const vmis = [aVmi(other, { uid: 'another', ready: false }), ...rest.map((vm) => aVmi(vm))];
    const context = { vms: [{ ...other, ready: false }, ...rest], vmis };
    expect(plan(context)).toMatchObject({ admitted: [], open: 2, full: ['1 at a time', 'shop/vm-1 not ready'] });
    expect(plan(context, { atOnce: 2 }).admitted.length).toBe(1);
  });

  test('does not count a standby VM while its pool keeps it paused, which costs nothing', () => {
    const [standby, ...rest] = named(3, {}) as [VmView, ...VmView[]];
    const paused: VmView = { ...standby, role: 'Standby', ready: false };
    const vmis = [aVmi(paused, { uid: 'another', ready: false, pause: BY_USER }), ...rest.map((vm) => aVmi(vm))];
    expect(plan({ vms: [paused, ...rest], vmis }).admitted.length).toBe(1);
    const chosen = new Map([[namespacedName(paused), 'another'], ...chosenOf(rest)]);
    const { admitted: take } = plan({ vms: [paused, ...rest], vmis }, { chosen });
    expect(take.find(({ vm }) => vm === namespacedName(paused))).toMatchObject({ wasDown: true });
    expect(take.length).toBe(1);
  });

  test('counts a VM in progress though it is still ready, also for its pool', () => {
    const [first] = named(1, {});
    const input = { inProgress: [held(first!, {})], atOnce: 2 };
    expect(plan({ vms: named(3, {}) }, input).admitted.length).toBe(1);
    expect(plan({ vms: named(3, {}) }, { ...input, atOnce: 1 }).admitted).toEqual([]);
    expect(plan({ vms: named(3, {}), pool: settledPool({ maxUnavailable: 1 }) }, input).admitted).toEqual([]);
  });

  test('takes VMs in the order that is asked for, after those that are down already', () => {
    const [one, two, three, down] = named(4) as [VmView, VmView, VmView, VmView];
    const last = { ...one, labels: { role: 'primary' } };
    const vms = [{ ...two, createdAt: 9 }, last, { ...three, createdAt: 5 }, { ...down, ready: false }];
    const labelSelector = { matchExpressions: [{ key: 'role', operator: 'DoesNotExist' as const }] };
    const taken = (basePolicy: 'Oldest' | 'Newest'): string[] =>
      plan({ vms }, { atOnce: 4, order: { orderedPolicies: [{ labelSelector }], basePolicy } }).admitted.map(
        ({ vm }) => vm,
      );
    expect(taken('Oldest')).toEqual(['shop/vm-4', 'shop/vm-3', 'shop/vm-2', 'shop/vm-1']);
    expect(taken('Newest')).toEqual(['shop/vm-4', 'shop/vm-2', 'shop/vm-3', 'shop/vm-1']);
  });

  test('takes nothing outside of the windows, and tells when the next one opens, unless nothing is left', () => {
    const windows = [{ cron: '0 5 * * *', duration: '1h' }];
    const opensAt = Date.parse('1970-01-01T05:00:00Z');
    const full = ['the next window opens at 1970-01-01T05:00:00.000Z'];
    expect(plan({ vms: named(3) }, { windows })).toEqual({ admitted: [], open: 3, skipped: [], full, opensAt });
    expect(plan({ vms: named(3) }, { windows, now: opensAt })).toMatchObject({
      admitted: [expect.anything()],
      opensAt: null,
    });
    expect(plan({ vms: [] }, { windows })).toMatchObject({ full: [], opensAt: null });
    // Nobody waits for what never comes.
    const never = [{ cron: '0 5 30 2 *', duration: '1h' }];
    expect(plan({ vms: named(1) }, { windows: never })).toMatchObject({
      full: [expect.stringContaining('spec.windows[0]: ')],
      opensAt: null,
    });
  });

  test('takes nothing if nothing may be taken', () => {
    expect(plan({ vms: named(3) }, { mayStart: false })).toMatchObject({ admitted: [], open: 3, full: [] });
  });

  test('takes as many VMs at once as there is room for', () => {
    const { admitted: take, open } = plan({ vms: named(600) }, { atOnce: 550 });
    expect(take.length).toBe(550);
    expect(open).toBe(600);
  });

  test("takes VMs of a pool within the pool's own maxUnavailable, which counts all its VMs", () => {
    const owned = named(6, {});
    const pool = settledPool({ replicas: 6, maxUnavailable: 2 });
    const chosen = chosenOf(owned.slice(0, 4));
    expect(plan({ vms: owned, pool }, { chosen, atOnce: 4 })).toMatchObject({
      admitted: [{}, {}],
      full: ['in pool shop/web, 2 VMs are unavailable or in progress, and maxUnavailable allows 2'],
    });
    const vms = owned.map((vm, index) => (index === 5 ? { ...vm, ready: false } : vm));
    expect(plan({ vms, pool }, { chosen, atOnce: 4 }).admitted.length).toBe(1);
    const asked = owned.map((vm, index) => (index === 5 ? { ...vm, changingState: true } : vm));
    expect(plan({ vms: asked, pool }, { chosen, atOnce: 4 }).admitted.length).toBe(1);
    const haltedSince = owned.map((vm, index) =>
      index === 5 ? { ...vm, changingState: true, runStrategy: 'Halted', ready: false } : vm,
    );
    expect(plan({ vms: haltedSince, pool }, { chosen, atOnce: 4 }).admitted.length).toBe(2);
    // A missing VM counts too.
    expect(plan({ vms: owned.slice(0, 5), pool }, { chosen, atOnce: 4 }).admitted.length).toBe(1);
  });

  test('reports full pools in a few words, however many there are', () => {
    const vms = named(100, {}).map((vm) => ({ ...vm, owner: { ...vm.owner!, uid: vm.name }, ready: true }));
    const { full } = plan({ vms }, { snapshot: { ...snapshotOf({ vms }), poolOf: aFullPool }, atOnce: 100 });
    expect(full.length).toBe(41);
    expect(full.at(-1)).toBe('other pools are full too');
  });

  test.each(['RollingOut', 'Undoing'])('takes no VM of a pool whose rollout is %s', (reason) => {
    const pool = settledPool({ replicas: 2 }, reason);
    const skipped = [{ message: 'its pool shop/web is rolling out', isExcluded: false, count: 2 }];
    expect(plan({ vms: named(2, {}), pool })).toMatchObject({ admitted: [], open: 2, skipped });
  });

  test('takes no VM of a pool whose template has not been checked yet, nor of a pool that waits', () => {
    const pool = settledPool({ replicas: 2 });
    expect(
      plan({ vms: named(2, {}), pool: { ...pool, status: { ...pool.status!, updateRevision: 'another' } } }).admitted,
    ).toEqual([]);
    expect(plan({ vms: named(2, {}), pool: settledPool({ replicas: 2 }, 'WaitingForApproval') }).admitted.length).toBe(
      1,
    );
  });

  test('waits for a VM that was refused a moment ago', () => {
    const input: Input = { whyNot: ({ name }) => (name === 'vm-1' ? 'another has the place' : null), atOnce: 2 };
    expect(plan({ vms: named(2) }, input)).toMatchObject({
      admitted: [{ vm: 'shop/vm-2' }],
      open: 2,
      skipped: [{ message: 'another has the place', isExcluded: false, vms: ['shop/vm-1'] }],
    });
  });

  test('takes no VM that has failed', () => {
    const vms = named(2);
    expect(plan({ vms }, { ended: new Set(['shop/vm-1']), atOnce: 2 })).toMatchObject({
      admitted: [{ vm: 'shop/vm-2' }],
      open: 1,
    });
  });
});

describe('the need of one VM', () => {
  const vm = aVm('vm-1', NOBODYS);
  const vmi = aVmi(vm);
  test.each<[string, Partial<VmView>, Partial<VmiView>, object]>([
    ['its restart', {}, {}, { need: 'act' }],
    ['nothing, with another VMI', {}, { uid: 'another' }, { need: 'nothing' }],
    ['nothing while its VMI goes', {}, { deleting: true }, { need: 'nothing' }],
    ['nothing when its VMI has ended', {}, { phase: 'Succeeded' }, { need: 'nothing' }],
    ['nothing when it is halted', { runStrategy: 'Halted' }, {}, { need: 'nothing' }],
    ['nothing when it is deleted', { deleting: true }, {}, { need: 'nothing' }],
    ['nothing when it leaves its pool', { removing: true }, {}, { need: 'nothing' }],
    ['to be left, as its owner asked', { optedOut: true }, {}, { need: 'excluded' }],
    [
      'to be waited for while it migrates',
      {},
      { migration: { name: 'm', phase: 'Running', createdAt: 0 } },
      { need: 'deferred', message: 'it migrates (m)', until: null },
    ],
    [
      'to be waited for while it is paused',
      {},
      { pause: BY_USER },
      { need: 'deferred', message: 'it is paused by a user', until: null },
    ],
    ['to be waited for while a snapshot is taken', { operations: SNAPSHOT }, {}, { need: 'deferred' }],
    ['to be waited for until KubeVirt knows its spec', { generationObserved: false }, {}, { need: 'deferred' }],
    ['its restart, under Once', { runStrategy: 'Once' }, {}, { need: 'act' }],
    ['its restart, under Manual', { runStrategy: 'Manual' }, {}, { need: 'act' }],
  ])('%s', (_words, changed, vmiFields, need) => {
    expect(
      powerNeed('Restart', {
        target: vmi.uid,
        vm: { ...vm, ...changed },
        vmi: { ...vmi, ...vmiFields },
        owner: undefined,
      }),
    ).toMatchObject(need);
  });
  test('is nothing if the VM does not exist', () =>
    expect(powerNeed('Restart', { target: 'vmi-uid', vm: undefined, vmi: undefined, owner: undefined })).toEqual({
      need: 'nothing',
    }));
});

describe('a VM in progress', () => {
  const vm = aVm('vm-1', NOBODYS);
  const settled = (
    changed: Partial<VmView> | null,
    vmiFields: Partial<VmiView> | null,
    fields: Partial<VmInProgress> = {},
    input: Partial<OutcomeInput> = {},
  ): Omit<PowerOutcome, 'since'>[] => {
    const now = { ...vm, ...changed };
    const context = {
      vms: changed === null ? [] : [now],
      vmis: vmiFields === null ? [] : [aVmi(now, { uid: 'the next', ...vmiFields })],
    };
    const rest = { action: 'Restart' as const, snapshot: snapshotOf(context), deadlineMs: DEADLINE_MS, now: 1_000_000 };
    const outcome = outcomeOf(held(vm, { vmi: aVmi(vm).uid, ...fields }), { ...rest, ...input });
    if (outcome === null) return [];
    const { since, ...other } = outcome;
    expect(since).toBe(fields.since ?? 1_000_000);
    return [other];
  };
  const verified = (verification: Verification, since = 1_000_000) =>
    settled({}, {}, { since }, { verify: () => verification });
  test('is restarted once another VMI is ready', () =>
    expect(settled({}, {})).toEqual([{ vm: 'shop/vm-1', end: 'Restarted' }]));
  test('is waited for until then', () => {
    expect(settled({}, { ready: false })).toEqual([]);
    expect(settled({ ready: false }, {})).toEqual([]);
    expect(settled({}, null)).toEqual([]);
    expect(settled({}, { uid: aVmi(vm).uid })).toEqual([]);
    expect(settled({ runStrategy: 'Manual', hasVmi: true, changingState: false }, null)).toEqual([]);
  });
  test('is gone when it was deleted, replaced or stopped', () => {
    expect(settled(null, null)).toMatchObject([{ end: 'Gone', message: 'it was deleted' }]);
    expect(settled({ deleting: true }, {})).toMatchObject([{ end: 'Gone' }]);
    expect(settled({ uid: 'another' }, {})).toMatchObject([{ end: 'Gone' }]);
    expect(settled({ runStrategy: 'Halted', hasVmi: false }, null)).toMatchObject([
      { end: 'Gone', message: 'it was stopped' },
    ]);
    expect(settled({ runStrategy: 'Once' }, { phase: 'Succeeded' })).toMatchObject([
      { end: 'Gone', message: 'it was stopped' },
    ]);
  });
  test('has failed once its deadline has passed, with the reason', () => {
    const since = 1_000_000 - DEADLINE_MS;
    expect(settled({ ready: false }, { ready: false, whyNotReady: 'no node takes it' }, { since })).toEqual([
      { vm: 'shop/vm-1', end: 'Failed', message: 'not ready in time: no node takes it' },
    ]);
    expect(settled({}, { uid: aVmi(vm).uid }, { since })).toMatchObject([
      { message: 'not ready in time: it has not restarted' },
    ]);
    expect(settled({}, { ready: false }, { since: since + 1 })).toEqual([]);
  });
  test('may need more of its VMI than to be ready', () => {
    expect(verified({ is: 'well' })).toEqual([{ vm: 'shop/vm-1', end: 'Restarted' }]);
    expect(verified({ is: 'wrong', message: 'it is another' })).toEqual([
      { vm: 'shop/vm-1', end: 'Failed', message: 'it is another' },
    ]);
    expect(verified({ is: 'unknown', why: 'its type is not known' })).toEqual([]);
    expect(verified({ is: 'unknown', why: 'its type is not known' }, 0)).toMatchObject([
      { end: 'Failed', message: 'not ready in time: its type is not known' },
    ]);
  });
});

test('the VMs that count may be more than those to be restarted, or fewer', () => {
  const vms = named(3);
  const [down, ...well] = vms.map((vm, index) => (index === 0 ? { ...vm, ready: false } : vm)) as [
    VmView,
    VmView,
    VmView,
  ];
  const rest = {
    snapshot: snapshotOf({ vms: [down, ...well] }),
    inProgress: [],
    most: 1,
    now: 0,
    keepsAvailable: true,
  };
  const budgetOf = (counted: VmView[]): RunBudget =>
    new RunBudget({ ...rest, counted: new CountedVms(new Set(counted.map(namespacedName)), rest.snapshot) });
  expect(budgetOf(vms).whyNot(well[0])).toBe('1 at a time');
  expect(budgetOf(well).whyNot(well[0])).toBeNull();
});

/** A small cluster in which time passes, VMIs come and go, and two restarts run over some of the same VMs. */
class Model {
  readonly pool: StoredPool;
  readonly vms = new Map<string, VmView>();
  readonly vmiOfVm = new Map<string, VmiView>();
  /** How often each VMI was restarted, by UID. */
  readonly restarted = new Map<string, number>();
  now = 1_000_000;
  #next = 0;

  constructor(count: number, inPool: number, maxUnavailable: number) {
    this.pool = settledPool({ replicas: inPool, maxUnavailable });
    for (let number = 1; number <= count; number++) {
      const vm = aVm(`web-${number}`, number <= inPool ? {} : NOBODYS);
      this.vms.set(namespacedName(vm), vm);
      this.vmiOfVm.set(namespacedName(vm), aVmi(vm));
    }
  }

  get snapshot(): VmsSnapshot {
    const owned = [...this.vms.values()].filter(({ owner }) => owner !== null);
    const owner: OwningPool = { pool: this.pool, vms: () => owned };
    return {
      vmOf: (key) => this.vms.get(key),
      vmiOf: (vm) => this.vmiOfVm.get(namespacedName(vm)),
      poolOf: (vm) => (vm.owner === null ? undefined : owner),
    };
  }

  isDown(key: string): boolean {
    const vm = this.vms.get(key)!;
    return isActive(vm) && isDown(vm, this.vmiOfVm.get(key));
  }

  change(key: string, fields: Partial<VmView>, vmiFields: Partial<VmiView> = {}): void {
    this.vms.set(key, { ...this.vms.get(key)!, ...fields });
    const vmi = this.vmiOfVm.get(key);
    if (vmi !== undefined) this.vmiOfVm.set(key, { ...vmi, ...vmiFields });
  }

  restart(key: string): void {
    const { uid } = this.vmiOfVm.get(key)!;
    this.restarted.set(uid, (this.restarted.get(uid) ?? 0) + 1);
    this.vmiOfVm.delete(key);
    this.change(key, { ready: false });
  }

  /** Brings a VM that is down one step nearer to being ready. */
  comeUp(key: string): void {
    if (!this.isDown(key)) return;
    const vm = this.vms.get(key)!;
    if (!this.vmiOfVm.has(key)) this.vmiOfVm.set(key, aVmi(vm, { uid: `vmi-${this.#next++}`, ready: false }));
    else this.change(key, { ready: true }, { ready: true });
  }
}

/** One restart, run as the workflow runs it. */
class Run {
  readonly chosen: Chosen;
  readonly failed = new Set<string>();
  readonly most: number;
  inProgress: VmInProgress[] = [];
  open = Infinity;
  readonly #model: Model;

  constructor(model: Model, keys: string[], most: number) {
    this.#model = model;
    this.most = most;
    this.chosen = new Map(keys.map((key) => [key, model.vmiOfVm.get(key)!.uid]));
  }

  turn(between: (key: string) => void = () => {}): void {
    const { now, snapshot } = this.#model;
    const { chosen, inProgress, failed, most: atOnce } = this;
    const settled = inProgress.flatMap(
      (one) => outcomeOf(one, { action: 'Restart', snapshot, deadlineMs: DEADLINE_MS, now }) ?? [],
    );
    for (const { vm, end } of settled) {
      this.inProgress = this.inProgress.filter((one) => one.vm !== vm);
      if (end === 'Failed') failed.add(vm);
    }
    const found = planPower({
      chosen,
      snapshot,
      inProgress: new Set(this.inProgress.map(({ vm }) => vm)),
      action: 'Restart',
      ended: failed,
      whyNot: () => null,
      whyExcluded: () => null,
      atOnce,
      mayStart: true,
      now,
    });
    this.open = found.open;
    this.inProgress.push(...found.admitted.map((one) => ({ ...one, since: now })));
    const waiting = new Set(found.admitted.map(({ vm }) => vm));
    for (const { vm: key } of found.admitted) {
      between(key);
      if (!this.#act(key, waiting)) this.inProgress = this.inProgress.filter((one) => one.vm !== key);
      waiting.delete(key);
    }
  }

  get isOver(): boolean {
    return this.inProgress.length === 0 && this.open === 0;
  }

  #act(key: string, waiting: ReadonlySet<string>): boolean {
    const model = this.#model;
    const { snapshot, vms, vmiOfVm } = model;
    const { chosen, most } = this;
    const vm = vms.get(key)!;
    const need = powerNeed('Restart', {
      target: chosen.get(key)!,
      vm,
      vmi: vmiOfVm.get(key),
      owner: snapshot.poolOf(vm),
    });
    if (need.need === 'nothing') return true;
    const inProgress = this.inProgress.map((one) => one.vm).filter((one) => !waiting.has(one));
    if (
      need.need !== 'act' ||
      new RunBudget({
        keepsAvailable: true,
        counted: new CountedVms(chosen, snapshot),
        snapshot,
        inProgress,
        most,
        now: 0,
      }).whyNot(vm) !== null
    )
      return false;
    const costs = !model.isDown(key);
    model.restart(key);
    if (costs) this.#expectWithinBudget(vm);
    return true;
  }

  #expectWithinBudget({ owner }: VmView): void {
    const { snapshot, pool } = this.#model;
    expect([...this.chosen.keys()].filter((key) => this.#model.isDown(key)).length).toBeLessThanOrEqual(this.most);
    if (owner === null) return;
    const vms = [...this.#model.vms.values()].filter(isRegular).filter((vm) => vm.owner !== null && isActive(vm));
    expect(unavailability({ pool, vms, vmiOf: snapshot.vmiOf, inProgress: [] }).count).toBeLessThanOrEqual(
      maxUnavailableOf(pool),
    );
  }
}

const DOWN = [{ ready: false }, { ready: false }] as const;

/** An event on the n-th VM, or a turn of one of the runs. */
const anyEvent = fc.record({
  what: fc.constantFrom(
    'first',
    'first',
    'second',
    'second',
    'up',
    'up',
    'up',
    'crash',
    'exempt',
    'pause',
    'unpause',
    'halt',
    'time',
  ),
  at: fc.nat(29),
});
const anyScene = fc.record({
  count: fc.integer({ min: 1, max: 30 }),
  inPool: fc.nat(30),
  poolMost: fc.integer({ min: 1, max: 5 }),
  most: fc.tuple(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10 })),
  split: fc.tuple(fc.nat(30), fc.nat(30)),
  events: fc.array(anyEvent, { maxLength: 200 }),
});

test('two restarts of any fleet stay within every budget, take no VM twice, and always end', () => {
  fc.assert(
    fc.property(anyScene, ({ count, inPool, poolMost, most, split, events }) => {
      const model = new Model(count, Math.min(inPool, count), poolMost);
      const keys = [...model.vms.keys()];
      const runs = [
        new Run(model, keys.slice(0, split[0]), most[0]),
        new Run(model, keys.slice(split[1] % count), most[1]),
      ];
      const happen = (what: string, at: number): void => {
        const key = keys[at % count]!;
        // Sometimes another VM goes down between planning and acting.
        const between = (): void => void (at % 3 === 0 && model.change(keys[(at * 7) % count]!, ...DOWN));
        if (what === 'first' || what === 'second') runs[what === 'first' ? 0 : 1]!.turn(between);
        else if (what === 'up') model.comeUp(key);
        else if (what === 'crash') model.change(key, ...DOWN);
        else if (what === 'exempt') model.change(key, { optedOut: true });
        else if (what === 'pause' || what === 'unpause')
          model.change(key, {}, { pause: what === 'pause' ? BY_USER : null });
        else if (what === 'time') model.now += 60_000;
        else if (!model.vmiOfVm.has(key)) model.change(key, { runStrategy: 'Halted', hasVmi: false });
      };
      for (const { what, at } of events) happen(what, at);
      // From now on all goes well.
      for (const key of keys) model.change(key, { optedOut: false }, { pause: null });
      for (const run of runs) run.turn();
      for (let turns = 0; !runs.every(({ isOver }) => isOver); turns++) {
        expect(turns).toBeLessThan(10 * (count + 1));
        for (const run of runs) run.turn();
        for (let step = 0; step < 2; step++) for (const key of keys) model.comeUp(key);
      }
      for (const { chosen, failed } of runs) {
        for (const [key, vmiFields] of chosen)
          if (!failed.has(key)) expect(model.vmiOfVm.get(key)?.uid).not.toBe(vmiFields);
      }
      expect([...model.restarted.values()].filter((times) => times > 1)).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
