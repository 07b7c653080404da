import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Autohealing } from '../../../api/pool/pool.ts';
import { healingRules } from '../../../api/rules/pool-defaults.ts';
import { endedEarly, healthOf, isNextAfter, isAvailable, type Health } from '../../../decisions/healing/vm-health.ts';
import type { NodeCounts } from '../../../decisions/health/node-outage.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

const MINUTE = 60_000;
const NOW = 100 * MINUTE;
const ONE_LOST: NodeCounts = { lost: 1, all: 3 };
const nodeCounts = (): NodeCounts => ONE_LOST;

interface Case {
  vm?: Partial<VmView>;
  /** Null: the VM has none. */
  vmi?: Partial<VmiView> | null;
  lastFailure?: string | null;
  rules?: Autohealing;
  earlyExits?: number;
  hasRun?: boolean;
  nodes?: NodeCounts;
}

/** The health of a VM that has not been ready for `minutes`, unless the case says otherwise. */
function health(
  { vm: fields = {}, vmi = {}, lastFailure = null, rules = {}, earlyExits = 0, hasRun = false, nodes = ONE_LOST }: Case,
  minutes = 30,
): Health {
  const vm = aVm('web-1', { ready: false, state: 'Starting', notReadySince: NOW - minutes * MINUTE, ...fields });
  const live =
    vmi === null
      ? undefined
      : aVmi(vm, { ready: false, phase: 'Scheduling', scheduledAt: null, runningSince: null, ...vmi });
  return healthOf({
    vm,
    vmi: live,
    lastFailure,
    earlyExits: earlyExits,
    hasRun,
    nodeCounts: () => nodes,
    rules: healingRules(rules),
    now: NOW,
  });
}
const isUnhealthy = (one: Case, minutes?: number): boolean => health(one, minutes).unhealthy;
const wakesIn = (one: Case, minutes?: number): number | null => {
  const said = health(one, minutes);
  return said.unhealthy || said.at === null ? null : (said.at - NOW) / MINUTE;
};

const running: Partial<VmiView> = { phase: 'Running', scheduledAt: NOW - 20 * MINUTE, runningSince: NOW - 20 * MINUTE };

describe('starts that fail', () => {
  test.each<[string, Case, boolean]>([
    ['as many as the threshold', { vm: { startFailures: 3 } }, true],
    ['fewer', { vm: { startFailures: 2 } }, false],
    ['of another threshold', { vm: { startFailures: 5 }, rules: { startupFailureThreshold: 6 } }, false],
    ['with early exits of VMIs among them', { vm: { startFailures: 1 }, earlyExits: 2 }, true],
    [
      'between two starts, when there is no VMI',
      { vm: { startFailures: 3, hasVmi: false, state: 'CrashLoopBackOff' }, vmi: null },
      true,
    ],
    [
      'of a VM that is ready all the same',
      { vm: { startFailures: 3, ready: true }, vmi: { ...running, ready: true } },
      false,
    ],
    ['of a VM that was stopped', { vm: { startFailures: 3, runStrategy: 'Halted' } }, false],
    [
      'of a VM that is started by hand, and was not',
      { vm: { startFailures: 3, runStrategy: 'Manual', hasVmi: false, state: 'Stopped' }, vmi: null },
      false,
    ],
  ])('%s: unhealthy %#', (_what, one, unhealthy) => expect(isUnhealthy(one)).toBe(unhealthy));

  test('make a VM unhealthy if they go on for long enough, however few they are', () => {
    const rules = { minFailingToStartDuration: '5m' };
    expect(isUnhealthy({ vm: { startFailures: 1 }, rules }, 5)).toBe(true);
    expect(wakesIn({ vm: { startFailures: 1 }, rules }, 4)).toBe(1);
    expect(wakesIn({ vm: { startFailures: 0 }, rules }, 4)).toBe(null);
  });

  test("are reported in KubeVirt's words", () => {
    expect(health({ vm: { startFailures: 3 }, vmi: { whyNotReady: 'the disk is unreadable' } })).toEqual({
      unhealthy: true,
      message: '3 starts in a row have failed: the disk is unreadable',
    });
  });

  test.each([{ vmi: null }, { vmi: { whyNotReady: 'it is not running yet' } }])(
    'are reported in the words of the VMI that failed, once that is gone: %j',
    ({ vmi }) => {
      const lastFailure = 'the disk is unreadable';
      expect(health({ vm: { startFailures: 3 }, vmi, lastFailure })).toEqual({
        unhealthy: true,
        message: '3 starts in a row have failed: the disk is unreadable',
      });
      expect(
        health({
          vmi: { ...running, whyNotReady: 'the probe fails' },
          hasRun: true,
          lastFailure,
          rules: { unhealthyAfter: { notReady: '5m' } },
        }),
      ).toMatchObject({ message: 'it is not ready: the probe fails for 5m' });
    },
  );
});

describe('a fault that new storage would not fix', () => {
  const waits = [
    'ErrorUnschedulable',
    'ErrorPvcNotFound',
    'DataVolumeError',
    'ErrImagePull',
    'ImagePullBackOff',
    'Provisioning',
    'WaitingForVolumeBinding',
  ];
  test.each(waits)('%s never makes a VM unhealthy', (state) => {
    const rules: Autohealing = {
      startupFailureThreshold: 1,
      minFailingToStartDuration: '1s',
      unhealthyAfter: { notReady: '1s' },
    };
    expect(health({ vm: { state, startFailures: 9 }, hasRun: true, rules })).toMatchObject({
      unhealthy: false,
      at: null,
    });
  });
});

describe('a VM with a DataVolume that has failed', () => {
  const failed: Case = { vm: { state: 'DataVolumeError' }, vmi: null };
  test('is replaced after 5 minutes, or as its pool says, if it has never run', () => {
    expect(isUnhealthy(failed, 4)).toBe(false);
    expect(wakesIn(failed, 4)).toBe(1);
    expect(health(failed, 5)).toEqual({ unhealthy: true, message: 'a DataVolume of it has failed for 5m' });
    expect(isUnhealthy({ ...failed, rules: { minFailingToStartDuration: '10m' } }, 9)).toBe(false);
  });

  test('is left, with advice for the user, if its disks may hold data', () => {
    expect(health({ ...failed, hasRun: true })).toMatchObject({
      unhealthy: false,
      exempt: expect.stringMatching(/^a DataVolume of it has failed, .* delete the failed DataVolume/),
    });
  });
});

describe('a VM that has run', () => {
  const rules: Autohealing = { unhealthyAfter: { notReady: '10m' } };
  const stuck: Case = { vmi: running, hasRun: true, rules };
  test.each<[string, Case, boolean]>([
    ['is sick when it is not ready for so long', stuck, true],
    ['is not, if the pool says nothing of it', { ...stuck, rules: {} }, false],
    ['is not, if it has never run', { ...stuck, hasRun: false }, false],
    ['is not, as long as it is stopping', { ...stuck, vmi: { ...running, deleting: true } }, false],
    ['is not, as long as it has no node', { ...stuck, vmi: {} }, false],
    ['is not, as long as it has no VMI', { ...stuck, vmi: null }, false],
  ])('%s', (_what, one, unhealthy) => expect(isUnhealthy(one)).toBe(unhealthy));

  test('wakes its pool in time', () => expect(wakesIn(stuck, 7)).toBe(3));

  test('has its time from when its node answers again, which may be a moment before the VM is ready', () => {
    const back = { ...running, nodeSince: NOW - MINUTE };
    expect(wakesIn({ ...stuck, vmi: back }, 20)).toBe(9);
    expect(isUnhealthy({ ...stuck, vmi: { ...back, nodeSince: NOW - 10 * MINUTE } }, 20)).toBe(true);
  });

  test('has its time from when it was given its node and disks, however long it waited for them', () => {
    const placed = { ...running, scheduledAt: NOW - 2 * MINUTE };
    expect(wakesIn({ ...stuck, vmi: placed }, 90)).toBe(8);
  });
});

describe('a lost node', () => {
  const lost: Case = { vm: { startFailures: 9 }, vmi: { ...running, nodeLost: true }, hasRun: true };
  const impatient: Autohealing = {
    startupFailureThreshold: 1,
    minFailingToStartDuration: '1s',
    unhealthyAfter: { notReady: '1s' },
  };
  test('never makes a VM unhealthy, regardless of its other conditions', () =>
    expect(health({ ...lost, rules: impatient })).toEqual({
      unhealthy: false,
      at: null,
      exempt: 'its node does not answer, and unhealthyAfter.unknownNode is never',
    }));
  test('makes a VM unhealthy if the pool says so, and in time', () => {
    const rules = { ...impatient, unhealthyAfter: { unknownNode: '30m' } };
    expect(isUnhealthy({ ...lost, rules }, 30)).toBe(true);
    expect(wakesIn({ ...lost, rules }, 29)).toBe(1);
  });
  test('counts from when it was lost, not from when the VM was last ready', () => {
    const rules = { unhealthyAfter: { unknownNode: '30m' } };
    const [sooner, later] = [1, 30].map((minutes) => ({ ...lost.vmi, nodeSince: NOW - minutes * MINUTE }));
    expect(wakesIn({ ...lost, vmi: sooner!, rules }, 90)).toBe(29);
    expect(isUnhealthy({ ...lost, vmi: later!, rules }, 90)).toBe(true);
  });
  test.each<[string, NodeCounts, boolean]>([
    ['half of the nodes', { lost: 2, all: 4 }, true],
    ['the only node', { lost: 1, all: 1 }, false],
    ['most nodes', { lost: 2, all: 3 }, false],
    ['all nodes', { lost: 5, all: 5 }, false],
  ])('with %s lost: makes a VM unhealthy only if the others answer', (_what, nodes, unhealthy) => {
    const one: Case = { ...lost, rules: { unhealthyAfter: { unknownNode: '5m' } }, nodes };
    expect(isUnhealthy(one)).toBe(unhealthy);
    if (!unhealthy)
      expect(health(one)).toMatchObject({
        at: NOW + MINUTE / 2,
        exempt: expect.stringMatching(/^its node does not answer, and neither do most others \(\d of \d\)/),
      });
  });
  test.each<[string, Case]>([
    ['a VM of unknown state', { vm: { startFailures: 9, state: 'Unknown' } }],
    ['a VMI of unknown state', { vm: { startFailures: 9 }, vmi: { phase: 'Unknown' } }],
  ])('is what %s means', (_what, one) => expect(isUnhealthy({ ...one, rules: impatient })).toBe(false));
});

describe('the end of a VMI', () => {
  const live = (fields: Partial<VmiView>): VmiView =>
    aVmi(aVm('web-1'), { phase: 'Failed', runningSince: NOW, endedAt: NOW + MINUTE, ready: false, ...fields });
  test.each<[string, VmiView, number, boolean]>([
    ['within the probation of its liveness probe', live({ probationMs: MINUTE }), 0, true],
    ['after it', live({ probationMs: MINUTE - 1 }), 0, false],
    ['within minReadySeconds', live({}), MINUTE, true],
    ['if neither is asked for', live({}), 0, false],
    ['that never ran, which KubeVirt counts', live({ probationMs: MINUTE, runningSince: null }), 0, false],
    ['by its own will', live({ probationMs: MINUTE, phase: 'Succeeded' }), 0, false],
  ])('%s', (_what, vmi, minReadyMs, early) => expect(endedEarly(vmi, minReadyMs)).toBe(early));

  test('is followed by the next start, unless a VMI ran well in between', () => {
    expect(isNextAfter(NOW, live({ createdAt: NOW + 1000, probationMs: MINUTE }), 0)).toBe(true);
    expect(isNextAfter(NOW, live({ createdAt: NOW + 2 * MINUTE, probationMs: MINUTE }), 0)).toBe(false);
  });
});

describe('a VM runs well', () => {
  const vm = aVm('web-1');
  const vmi = aVmi(vm, { readySince: NOW - MINUTE, runningSince: NOW - 2 * MINUTE });
  test.each<[string, boolean, VmView, VmiView | undefined, number]>([
    ['when it has been ready for minReadySeconds', true, vm, vmi, MINUTE],
    ['not sooner', false, vm, vmi, MINUTE + 1],
    ['not before its liveness probe has judged it', false, vm, { ...vmi, probationMs: 2 * MINUTE + 1 }, 0],
    ['when it has', true, vm, { ...vmi, probationMs: 2 * MINUTE }, 0],
    ['not while its VM is not ready', false, { ...vm, ready: false }, vmi, 0],
    ['not while it stops', false, vm, { ...vmi, deleting: true }, 0],
    ['not without a VMI', false, vm, undefined, 0],
  ])('%s', (_what, well, one, live, minReadyMs) => expect(isAvailable(one, live, minReadyMs, NOW)).toBe(well));
});

const anyCase = fc.record({
  vm: fc.record({
    state: fc.constantFrom('Running', 'Starting', 'CrashLoopBackOff', 'Stopping', 'ErrorUnschedulable', 'Unknown', ''),
    startFailures: fc.nat(6),
    ready: fc.boolean(),
    runStrategy: fc.constantFrom('Always', 'RerunOnFailure', 'Once', 'Manual', 'Halted'),
    notReadySince: fc.option(fc.nat(NOW)),
  }),
  vmi: fc.option(
    fc.record({
      phase: fc.constantFrom('', 'Scheduling', 'Scheduled', 'Running', 'Failed', 'Succeeded', 'Unknown'),
      ready: fc.boolean(),
      deleting: fc.boolean(),
      nodeLost: fc.boolean(),
      scheduledAt: fc.option(fc.nat(NOW)),
    }),
  ),
  earlyExits: fc.nat(4),
  hasRun: fc.boolean(),
  rules: fc.record(
    {
      startupFailureThreshold: fc.integer({ min: 1, max: 5 }),
      minFailingToStartDuration: fc.constantFrom('1m', '50m'),
      unhealthyAfter: fc.record({
        notReady: fc.constantFrom('1m', '50m', 'never'),
        unknownNode: fc.constantFrom('1m', '50m', 'never'),
      }),
    },
    { requiredKeys: [] },
  ),
});

test('a VM becomes unhealthy by time alone only at the announced time, and never healthy', () => {
  fc.assert(
    fc.property(anyCase, fc.nat(120 * MINUTE), ({ vm: fields, vmi: live, rules, ...rest }, later) => {
      const vm = aVm('web-1', fields);
      const vmi = live === null ? undefined : aVmi(vm, live);
      const at = (now: number): Health => healthOf({ vm, vmi, ...rest, nodeCounts, rules: healingRules(rules), now });
      const [first, second] = [at(NOW), at(NOW + later)];
      if (first.unhealthy) expect(second.unhealthy).toBe(true);
      else if (second.unhealthy) expect(first.at).toBeLessThanOrEqual(NOW + later);
      if (!first.unhealthy && first.at !== null) {
        expect(first.at).toBeGreaterThan(NOW);
        expect(at(first.at).unhealthy).toBe(true);
        expect(at(first.at - 1).unhealthy).toBe(false);
      }
    }),
  );
});

test('a VM is not unhealthy if it is ready, is not meant to run, or is on a lost node while the pool has no rule for that', () => {
  fc.assert(
    fc.property(anyCase, ({ vm: fields, vmi: live, rules, ...rest }) => {
      const vm = aVm('web-1', fields);
      const vmi = live === null ? undefined : aVmi(vm, live);
      const isReady = vm.ready && vmi?.ready === true && !vmi.deleting;
      const isLost = vmi?.nodeLost === true && (rules.unhealthyAfter?.unknownNode ?? 'never') === 'never';
      fc.pre(isReady || vm.runStrategy === 'Halted' || isLost);
      expect(healthOf({ vm, vmi, ...rest, nodeCounts, rules: healingRules(rules), now: NOW }).unhealthy).toBe(false);
    }),
  );
});

test('a VM runs well if its VMI is ready, even before its own status says so', () => {
  const vm = aVm('web-1', { ready: false, startFailures: 9, state: 'CrashLoopBackOff' });
  const health = (ready: boolean) =>
    healthOf({
      vm,
      vmi: aVmi(vm, { ready }),
      earlyExits: 0,
      hasRun: false,
      nodeCounts,
      rules: healingRules({}),
      now: 0,
    });
  expect(health(false)).toMatchObject({ unhealthy: true });
  expect(health(true)).toEqual({ unhealthy: false, at: null });
});
