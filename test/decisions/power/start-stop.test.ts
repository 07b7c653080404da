import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namespacedName, type VmsSnapshot } from '../../../decisions/disruption-budget/restart-budget.ts';
import { isAtRest } from '../../../decisions/health/availability.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { outcomeOf, type VmInProgress } from '../../../decisions/power/outcome.ts';
import { planPower } from '../../../decisions/power/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi, BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';

const DEADLINE_MS = 600_000;
const NOW = 1_000_000;
const ACT = { need: 'act' };
const NOTHING = { need: 'nothing' };

const running = aVm('vm-1', { owner: null });
const stopped: VmView = { ...running, runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' };

type Case = [words: string, vm: Partial<VmView>, vmi: Partial<VmiView> | null, need: object];

const needOf = (action: PowerAction, vm: VmView, vmi: Partial<VmiView> | null) =>
  powerNeed(action, { target: running.uid, vm, vmi: vmi === null ? undefined : aVmi(vm, vmi), owner: undefined });

describe('a start', () => {
  test.each<Case>([
    ['is done to a halted VM', {}, null, ACT],
    ['is done to a stopped VM under Manual', { runStrategy: 'Manual' }, null, ACT],
    ['is done to a VM that has ended under Manual', { runStrategy: 'Manual' }, { phase: 'Failed' }, ACT],
    [
      'is done to a VM that has ended well under RerunOnFailure',
      { runStrategy: 'RerunOnFailure', lastRunStrategy: 'RerunOnFailure' },
      null,
      ACT,
    ],
    ['disrupts nothing, so that no owner needs to be asked', { optedOut: true }, null, ACT],
    ['is not needed under Always', { runStrategy: 'Always' }, null, NOTHING],
    [
      'waits for one that somebody is stopping',
      { runStrategy: 'Manual', changingState: true },
      {},
      { need: 'deferred', message: 'it is stopping or restarting', until: null },
    ],
    ['is done to a halted VM that KubeVirt was asked to stop before', { changingState: true }, null, ACT],
    ['is not needed by one that starts', { runStrategy: 'Manual', changingState: true }, null, NOTHING],
    ['is not for another VM of its name', { uid: 'another' }, null, NOTHING],
    ['is not for a VM that is deleted', { deleting: true }, null, NOTHING],
    ['is not for a VM that leaves its pool', { removing: true }, null, NOTHING],
    [
      'waits for its last VMI',
      {},
      { deleting: true },
      { need: 'deferred', message: 'its last VMI has not stopped yet', until: null },
    ],
    ['waits while a snapshot is taken', { operations: SNAPSHOT }, null, { need: 'deferred' }],
    ['is done to a VM that was changed while it was stopped', { generationObserved: false }, null, ACT],
    ['leaves one that runs only once', { runStrategy: 'Once' }, { phase: 'Succeeded' }, { need: 'excluded' }],
  ])('%s', (_words, vm, vmi, need) => {
    expect(needOf('Start', { ...stopped, ...vm }, vmi)).toMatchObject(need);
  });
});

describe('a stop', () => {
  test.each<Case>([
    ['is done to a VM that runs', {}, {}, ACT],
    ['is done to a VM that runs under Once', { runStrategy: 'Once' }, {}, ACT],
    ['is done to a VM that runs under Manual', { runStrategy: 'Manual' }, {}, ACT],
    ['is done to a VM that is not ready', { ready: false }, { ready: false }, ACT],
    ['is done to a VM whose VMI fails again and again', { hasVmi: false, ready: false }, null, ACT],
    ['is not needed by one that is halted', { runStrategy: 'Halted' }, { deleting: true }, NOTHING],
    ['is not needed by one that has run once', { runStrategy: 'Once' }, { phase: 'Succeeded' }, NOTHING],
    ['is not for another VM of its name', { uid: 'another' }, {}, NOTHING],
    ['is not for a VM that is deleted', { deleting: true }, {}, NOTHING],
    ['leaves what nobody may disrupt', { optedOut: true }, {}, { need: 'excluded' }],
    [
      'waits while it is paused',
      {},
      { pause: BY_USER },
      { need: 'deferred', message: 'it is paused by a user', until: null },
    ],
    [
      'waits while it migrates',
      {},
      { migration: { name: 'm', phase: 'Running', createdAt: 0 } },
      { need: 'deferred', message: 'it migrates (m)', until: null },
    ],
    [
      'waits for the VMI of one that KubeVirt would refuse to stop',
      { runStrategy: 'RerunOnFailure', state: 'Starting' },
      null,
      { need: 'deferred', message: 'it has no VMI yet', until: null },
    ],
  ])('%s', (_words, vm, vmi, need) => {
    expect(needOf('Stop', { ...running, ...vm }, vmi)).toMatchObject(need);
  });
});

describe('the outcome of a VM in progress', () => {
  const settled = (action: PowerAction, vm: VmView | null, vmi: Partial<VmiView> | null, since = NOW) => {
    const snapshot: VmsSnapshot = {
      vmOf: () => vm ?? undefined,
      vmiOf: (one) => (vmi === null ? undefined : aVmi(one, vmi)),
      poolOf: () => undefined,
    };
    const held = { vm: namespacedName(running), uid: running.uid, since };
    const outcome = outcomeOf(held, { action, snapshot, deadlineMs: DEADLINE_MS, now: NOW });
    const found = planPower({
      action,
      chosen: new Map([[held.vm, held.uid]]),
      snapshot,
      inProgress: new Set(outcome === null ? [held.vm] : []),
      ended: new Set(outcome === null ? [] : [held.vm]),
      whyNot: () => null,
      whyExcluded: () => null,
      atOnce: 2,
      mayStart: true,
      now: NOW,
    });
    return { settled: outcome === null ? [] : [outcome], admitted: found.admitted };
  };
  const late = NOW - DEADLINE_MS;

  test.each<[string, PowerAction, VmView | null, Partial<VmiView> | null, number, object[]]>([
    ['started, once it is ready', 'Start', running, {}, NOW, [{ end: 'Started' }]],
    ['waited for until then', 'Start', running, { ready: false }, NOW, []],
    ['waited for while it has no VMI', 'Start', { ...running, hasVmi: false, ready: false }, null, NOW, []],
    [
      'gone, when somebody has stopped it again',
      'Start',
      stopped,
      null,
      NOW,
      [{ end: 'Gone', message: 'it was stopped' }],
    ],
    [
      'failed, when it is not ready in time',
      'Start',
      { ...running, ready: false },
      { ready: false, whyNotReady: 'no node takes it' },
      late,
      [{ end: 'Failed', message: 'not ready in time: no node takes it' }],
    ],
    ['gone, when it was deleted', 'Start', null, null, NOW, [{ end: 'Gone', message: 'it was deleted' }]],
    ['stopped, once its VMI is gone', 'Stop', stopped, null, NOW, [{ end: 'Stopped' }]],
    ['waited for while its VMI goes', 'Stop', { ...stopped, hasVmi: true }, { deleting: true }, NOW, []],
    [
      'waited for while it is asked to',
      'Stop',
      { ...running, runStrategy: 'Manual', changingState: true },
      {},
      NOW,
      [],
    ],
    ['gone, when somebody has started it again', 'Stop', running, {}, NOW, [{ end: 'Gone' }]],
    [
      'waited for when its VMI is cached longer than its VM',
      'Stop',
      { ...running, runStrategy: 'Manual', hasVmi: false, state: 'Stopped' },
      {},
      NOW,
      [],
    ],
    [
      'failed, when it has not stopped in time',
      'Stop',
      { ...stopped, hasVmi: true },
      { deleting: true },
      late,
      [{ end: 'Failed', message: 'not stopped in time: its VMI has not stopped' }],
    ],
    [
      'failed, when it can not stop',
      'Stop',
      { ...stopped, hasVmi: true },
      { deleting: true, nodeLost: true },
      late,
      [{ message: 'not stopped in time: its VMI has not stopped; its node node-1 does not answer' }],
    ],
  ])('%s', (...[, action, vm, vmi, since, ends]) => {
    const found = settled(action, vm, vmi, since);
    expect(found.settled).toMatchObject(ends);
    expect(found.admitted).toEqual([]);
  });
});

const KubeVirt = {
  Start: (vm: VmView): [VmView, VmiView] => {
    const started = { ...vm, runStrategy: vm.runStrategy === 'Halted' ? 'Always' : vm.runStrategy, hasVmi: true };
    return [{ ...started, state: 'Starting' }, aVmi(vm, { uid: `vmi of ${vm.name}`, ready: false })];
  },
  Stop: (vm: VmView, vmi: VmiView | undefined): [VmView, VmiView | undefined] => {
    const strategy = vm.runStrategy === 'Always' ? 'Halted' : vm.runStrategy;
    return [
      { ...vm, runStrategy: strategy, state: 'Stopping', changingState: strategy === 'Manual' },
      vmi && { ...vmi, deleting: true },
    ];
  },
};

/**
 * VMs of two run strategies, what KubeVirt and users do to them, and a run that is carried out as the workflow does.
 */
class Model {
  readonly vms = new Map<string, VmView>();
  readonly vmis = new Map<string, VmiView>();
  /** How often the run has acted on each VM. */
  readonly acts = new Map<string, number>();
  readonly excluded = new Set<string>();
  readonly #action: 'Start' | 'Stop';
  readonly #atOnce: number;
  inProgress: VmInProgress[] = [];
  open = Infinity;
  now = NOW;

  constructor(action: 'Start' | 'Stop', count: number, atOnce: number) {
    this.#action = action;
    this.#atOnce = atOnce;
    for (let number = 1; number <= count; number++) {
      const runStrategy = number % 2 === 0 ? 'Manual' : 'Always';
      const vm = aVm(`vm-${number}`, { owner: null, runStrategy });
      this.vms.set(namespacedName(vm), vm);
      this.vmis.set(namespacedName(vm), aVmi(vm));
      if (action === 'Start') this.#put(namespacedName(vm), KubeVirt.Stop(vm, aVmi(vm)));
    }
    if (action === 'Start') for (const key of this.vms.keys()) this.settle(key);
  }

  #put(key: string, [vm, vmi]: [VmView, VmiView | undefined]): void {
    this.vms.set(key, vm);
    if (vmi === undefined) this.vmis.delete(key);
    else this.vmis.set(key, vmi);
  }

  /** Lets KubeVirt finish what it was asked for. */
  settle(key: string): void {
    const vm = this.vms.get(key)!;
    const vmi = this.vmis.get(key);
    if (vmi?.deleting === true) {
      const still = { ...vm, hasVmi: false, ready: false, state: 'Stopped', changingState: false };
      this.#put(key, [still, undefined]);
    } else if (vmi !== undefined)
      this.#put(key, [
        { ...vm, ready: true, state: 'Running' },
        { ...vmi, ready: true },
      ]);
  }

  person(key: string, action: 'Start' | 'Stop'): void {
    const vm = this.vms.get(key)!;
    const vmi = this.vmis.get(key);
    if (action === 'Start' && isAtRest(vm, vmi)) this.#put(key, KubeVirt.Start(vm));
    if (action === 'Stop' && vmi?.deleting === false) this.#put(key, KubeVirt.Stop(vm, vmi));
  }

  turn(): void {
    const { inProgress, excluded, now } = this;
    const chosen = new Map([...this.vms].map(([key, { uid }]) => [key, uid]));
    const snapshot: VmsSnapshot = {
      vmOf: (key) => this.vms.get(key),
      vmiOf: (vm) => this.vmis.get(namespacedName(vm)),
      poolOf: () => undefined,
    };
    const action = this.#action;
    for (const one of inProgress)
      if (outcomeOf(one, { action, snapshot, deadlineMs: DEADLINE_MS, now }) !== null) excluded.add(one.vm);
    this.inProgress = inProgress.filter(({ vm }) => !excluded.has(vm));
    const found = planPower({
      action,
      chosen,
      snapshot,
      inProgress: new Set(this.inProgress.map(({ vm }) => vm)),
      ended: excluded,
      whyNot: () => null,
      whyExcluded: () => null,
      atOnce: this.#atOnce,
      mayStart: true,
      now,
    });
    this.inProgress.push(...found.admitted.map((one) => ({ ...one, since: now })));
    this.open = found.open - found.admitted.length;
    expect(this.inProgress.length).toBeLessThanOrEqual(this.#atOnce);
    for (const { vm: key } of found.admitted) {
      this.acts.set(key, (this.acts.get(key) ?? 0) + 1);
      const vm = this.vms.get(key)!;
      this.#put(key, this.#action === 'Start' ? KubeVirt.Start(vm) : KubeVirt.Stop(vm, this.vmis.get(key)));
    }
  }
}

const anyRun = fc.record({
  action: fc.constantFrom('Start' as const, 'Stop' as const),
  count: fc.integer({ min: 1, max: 12 }),
  atOnce: fc.integer({ min: 1, max: 5 }),
  events: fc.array(fc.record({ what: fc.constantFrom('turn', 'settle', 'start', 'stop'), at: fc.nat(11) }), {
    maxLength: 100,
  }),
});

test('a start or stop of any VMs takes no more at once than allowed, none twice, and always ends', () => {
  fc.assert(
    fc.property(anyRun, ({ action, count, atOnce, events }) => {
      const model = new Model(action, count, atOnce);
      const keys = [...model.vms.keys()];
      for (const { what, at } of events) {
        const key = keys[at % count]!;
        if (what === 'turn') model.turn();
        else if (what === 'settle') model.settle(key);
        else model.person(key, what === 'start' ? 'Start' : 'Stop');
      }
      model.open = Infinity;
      for (let turns = 0; model.open > 0 || model.inProgress.length > 0; turns++) {
        expect(turns).toBeLessThan(4 * count + 4);
        model.turn();
        for (const key of keys) model.settle(key);
      }
      expect([...model.acts.values()].filter((times) => times > 1)).toEqual([]);
      // What the run has not touched, another client has brought there.
      const isDone = (key: string): boolean =>
        isAtRest(model.vms.get(key)!, model.vmis.get(key)) === (action === 'Stop');
      expect(keys.filter((key) => !model.excluded.has(key) && !isDone(key))).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test('a stop counts VMs that are not ready as well once they are in progress', () => {
  const vms = ['vm-1', 'vm-2', 'vm-3'].map((name) => aVm(name, { owner: null, ready: false }));
  const vmis = new Map(vms.map((vm) => [vm.name, aVmi(vm, { ready: false })]));
  const snapshot: VmsSnapshot = {
    vmOf: (key) => vms.find((vm) => namespacedName(vm) === key),
    vmiOf: ({ name }) => vmis.get(name),
    poolOf: () => undefined,
  };
  const rest = { action: 'Stop' as const, snapshot, ended: new Set<string>(), mayStart: true, now: NOW };
  const chosen = new Map(vms.map((vm) => [namespacedName(vm), vm.uid]));
  const plan = (inProgress: string[]) =>
    planPower({
      ...rest,
      chosen,
      inProgress: new Set(inProgress),
      atOnce: 2,
      whyNot: () => null,
      whyExcluded: () => null,
    });
  expect(plan([])).toMatchObject({ admitted: [{}, {}], open: 3, full: ['2 at a time'] });
  expect(plan([]).admitted.filter(({ wasDown }) => wasDown)).toEqual([]);
  expect(plan(['shop/vm-1']).admitted).toHaveLength(1);
  expect(plan(['shop/vm-1', 'shop/vm-2'])).toMatchObject({ admitted: [], open: 1, full: ['2 at a time'] });
});
