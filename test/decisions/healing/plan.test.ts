import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Autohealing, PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import type { AttemptEnd } from '../../../decisions/healing/attempt.ts';
import type { VmiHistory } from '../../../decisions/healing/never-ran.ts';
import { carried } from '../../../decisions/healing/refresh-state.ts';
import {
  reservedByHealing,
  noHealing,
  stateFrom,
  withHealingSignal,
  type Cycle,
  type HealingState,
  type FinishedCycle,
} from '../../../decisions/healing/state.ts';
import { BLOCKS_FOR_MS } from '../../../decisions/owners/removal-limit.ts';
import type { PoolStep } from '../../../decisions/owners/steps.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, quiet, BY_USER, IO_ERROR, SNAPSHOT } from '../fixtures/fleets.ts';

const withPause = (pause: VmiView['pause']) => (one: VmView) =>
  aVmi(one, one.name === 'web-1' ? { ready: false, pause, whyNotReady: 'PausedIOError: low-level IO error' } : {});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = 1_000 * HOUR;
const at = (ms: number): string => new Date(ms).toISOString();

/** A VM of the pool that has run well; its disks hold data. */
const well = (n: number, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${n}`, { createdAt: NOW - HOUR, notYetRun: null, ...fields });
const sick = (n: number, fields: Partial<VmView> = {}): VmView =>
  well(n, { ready: false, state: 'CrashLoopBackOff', startFailures: 3, notReadySince: NOW - MINUTE, ...fields });
const numbered = (make: (n: number) => VmView, from: number, to: number): VmView[] =>
  Array.from({ length: to - from + 1 }, (_, index) => make(from + index));

const cycle = (n: number, phase: Cycle['phase'], fields: Partial<Cycle> = {}): Cycle => ({
  vm: `web-${n}`,
  uid: `uid-of-web-${n}`,
  attempt: 1,
  phase,
  message: 'it fails',
  startedAt: at(NOW - MINUTE),
  run: { state: 'Running', since: NOW - MINUTE },
  ...fields,
});
const finishedOn = (n: number, end: FinishedCycle['end'], fields: Partial<FinishedCycle> = {}): FinishedCycle => ({
  vm: `web-${n}`,
  uid: `uid-of-web-${n}`,
  attempts: 1,
  end,
  message: 'why',
  at: at(NOW - MINUTE),
  ...fields,
});

const removedAt = (time: number): AttemptEnd => ({ end: 'Removed', keptDisks: false, nextAt: at(time) });

interface Given extends Partial<Omit<PoolPlanInput, 'pool' | 'healing'>> {
  rules?: Autohealing;
  spec?: Partial<PoolSpec>;
  status?: PoolStatus;
  deleted?: boolean;
  state?: Partial<HealingState>;
}

function poolOf({ rules = {}, spec = {}, status, deleted = false, vms = [] }: Given): StoredPool {
  const metadata = { creationTimestamp: at(NOW - 2 * HOUR), ...(deleted ? { deletionTimestamp: at(NOW) } : {}) };
  const pool = aPool({ replicas: vms.length, autohealing: rules, ...spec }, metadata);
  return status === undefined ? pool : { ...pool, status };
}

function plan(given: Given): PoolPlan {
  const { rules: _rules, spec: _spec, status: _status, deleted: _deleted, state = {}, vms = [], ...rest } = given;
  const healing: HealingState = { ...noHealing, ...state };
  return planPool({
    ...quiet,
    pool: poolOf(given),
    vms,
    healing,
    burst: 250,
    now: NOW,
    ...rest,
  });
}

const begun = ({ healing }: PoolPlan): string[] => healing.begin.map(({ unhealthyVm: sick }) => sick.name);
const cancelled = ({ healing }: PoolPlan): string[] => healing.cancel.map(({ vm }) => vm);
/** What has become of cycles: how they have ended, or that the new VM is unhealthy as well. */
const outcomes = ({ healing }: PoolPlan): Record<string, string> =>
  Object.fromEntries([
    ...healing.state.finished
      .filter((one) => Date.parse(one.at) >= NOW)
      .map(({ vm, end, message: why }) => [vm, end === 'Left' ? `Left: ${why}` : end]),
    ...healing.begin
      .filter(({ unhealthyVm: sick }) => sick.attempt > 1)
      .map(({ unhealthyVm: sick }) => [sick.name, 'Sick']),
  ]);
const phases = ({ healing }: PoolPlan): Record<string, string> =>
  Object.fromEntries(healing.state.cycles.map(({ vm, phase }) => [vm, phase]));
const created = ({ steps }: PoolPlan): number[] =>
  steps.flatMap((step) => (step.kind === 'create' ? step.numbers : []));
const removed = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' || step.kind === 'halt' ? step.vms.map(({ name }) => name) : []));
const condition = (planned: PoolPlan, type: string) => planned.status?.conditions?.find((one) => one.type === type);

describe('a sick VM', () => {
  test('starts a cycle, with the rules for its attempts', () => {
    const planned = plan({ vms: [sick(1), ...numbered(well, 2, 5)] });
    expect(planned.healing.begin).toEqual([
      {
        unhealthyVm: {
          name: 'web-1',
          uid: 'uid-of-web-1',
          attempt: 1,
          message: '3 starts in a row have failed',
          rules: { backoff: { initial: '10s', factor: 2, max: '10m', jitter: 0.1 }, maxAttempts: null },
          mayHaveData: true,
          earlyExits: 0,
          failingSince: null,
          pauseEndedAt: null,
        },
        startedAt: at(NOW),
        skipDelay: false,
        isAgain: false,
      },
    ]);
    expect(phases(planned)).toEqual({ 'web-1': 'Removing' });
    expect(planned.phase).toBe('Healing');
    expect(condition(planned, 'Healing')).toMatchObject({
      status: 'True',
      reason: 'ReplacingVms',
      message: 'web-1 (replacement 1): 3 starts in a row have failed',
    });
    expect(planned.status?.healing?.cycles).toMatchObject([{ vm: 'web-1', phase: 'Removing', attempt: 1 }]);
  });

  test.each<[string, Partial<VmView>, Partial<VmiView>]>([
    ['its owner opted out of disruption', { optedOut: true }, {}],
    ['KubeVirt takes a snapshot of it', { operations: SNAPSHOT }, {}],
    ['it moves to another node', {}, { migration: { name: 'm', phase: 'Running', createdAt: 0 } }],
    ['a person has paused its VMI', {}, { pause: BY_USER }],
    ['it is going', { deleting: true }, {}],
    ['it leaves the pool with its disks', { removing: true }, {}],
  ])('is left alone if %s', (_why, vm, vmi) => {
    const planned = plan({
      vms: [sick(1, vm), ...numbered(well, 2, 5)],
      vmiOf: (one) => aVmi(one, one.name === 'web-1' ? { ready: false, ...vmi } : {}),
    });
    expect(begun(planned)).toEqual([]);
  });

  test('is replaced if an I/O error has paused it for long enough, unless it is a standby VM that drover has paused', () => {
    const vms = [sick(1, { startFailures: 0, notYetRun: null, notReadySince: 0 }), ...numbered(well, 2, 5)];
    const rules = { unhealthyAfter: { notReady: '5m', unknownNode: 'never' } };
    expect(begun(plan({ vms, rules, vmiOf: withPause(IO_ERROR) }))).toEqual(['web-1']);
    expect(begun(plan({ vms, rules, vmiOf: withPause(BY_USER) }))).toEqual([]);
    const standby = vms.map((vm) => (vm.name === 'web-1' ? { ...vm, role: 'Standby' as const } : vm));
    expect(begun(plan({ vms: standby, rules, vmiOf: withPause(BY_USER) }))).toEqual([]);
  });

  test('is reported with what keeps it from being replaced', () => {
    const vm = sick(1, { operations: [{ kind: 'ManualRecovery', object: null }] });
    const planned = plan({ vms: [vm, ...numbered(well, 2, 5)] });
    expect(begun(planned)).toEqual([]);
    expect(JSON.stringify(planned.status?.healing)).toContain('its spec must name its old volumes again');
  });

  test('is left alone if it has a name that the pool would not give', () => {
    expect(begun(plan({ vms: [sick(1, { name: 'guest' }), ...numbered(well, 2, 5)] }))).toEqual([]);
  });

  test('starts no cycle for a VM that another operation has in progress', () => {
    const vms = [sick(1), sick(2), ...numbered(well, 3, 12)];
    const held = { name: 'web-1', uid: 'uid-of-web-1', act: 'restart' as const, from: null, wasDown: false };
    const batches = [{ n: 1, revision: 'two', rollout: 'two', vms: [held], startedAt: NOW }];
    const written = [{ ...sick(1), revision: 'two' }, ...vms.slice(1)];
    expect(begun(plan({ vms: written, batches }))).toEqual(['web-2']);
    // Its turn has not come.
    expect(begun(plan({ vms, batches }))).toEqual(['web-1', 'web-2']);
    expect(begun(plan({ vms, inProgress: { creating: [], deleting: ['web-1'] } }))).toEqual(['web-2']);
  });

  test('is in one cycle only, and is not updated by a rollout', () => {
    const template = { spec: { runStrategy: 'Always', template: { spec: { domain: {}, hostname: 'new' } } } } as const;
    const vms = [sick(1), ...numbered(well, 2, 5)];
    const first = plan({ vms, spec: { template, maxUnavailable: 5 } });
    expect(begun(first)).toEqual(['web-1']);
    const taken = first.steps.flatMap((step) => (step.kind === 'update' ? step.batch.vms.map(({ name }) => name) : []));
    expect(taken.toSorted()).toEqual(['web-2', 'web-3', 'web-4', 'web-5']);
    expect(begun(plan({ vms, state: first.healing.state }))).toEqual([]);
  });

  test('is replaced at the tested revision while the newest is not tested', () => {
    const template = { spec: { runStrategy: 'Always', template: { spec: { domain: {}, hostname: 'new' } } } } as const;
    const vms = [...numbered(well, 1, 4)];
    const planned = plan({
      vms,
      spec: { replicas: 5, template, paused: false },
      state: { cycles: [cycle(5, 'Provisioning')] },
    });
    expect(planned.steps.find((step) => step.kind === 'create')).toMatchObject({
      numbers: [5],
      revision: revisionOf(aPool().spec.template),
    });
  });
});

test('continues while updates are paused', () => {
  const planned = plan({ vms: [sick(1), ...numbered(well, 2, 10)], spec: { paused: true } });
  expect(begun(planned)).toHaveLength(1);
  expect(condition(planned, 'HealingSuspended')).toMatchObject({ status: 'False' });
});

describe('healing does not begin', () => {
  const vms = [sick(1), ...numbered(well, 2, 10)];
  test.each<[string, Given, string]>([
    ['while a person has paused healing', { state: { paused: { by: 'kim', at: at(NOW) } } }, 'PausedByUser'],
    ['when too many are unhealthy', { vms: numbered(sick, 1, 5).concat(numbered(well, 6, 10)) }, 'TooManyUnhealthy'],
  ])('%s, and the pool says so', (_when, given, reason) => {
    const planned = plan({ vms, ...given });
    expect(begun(planned)).toEqual([]);
    expect(condition(planned, 'HealingSuspended')).toMatchObject({ status: 'True', reason });
    expect(condition(planned, 'Healing')).toMatchObject({ status: 'False', reason: 'Waiting' });
  });

  test('if the pool does not heal, or is being deleted', () => {
    expect(begun(planPool({ ...quiet, pool: aPool({ replicas: 10 }), vms, burst: 9 }))).toEqual([]);
    expect(begun(plan({ vms, deleted: true }))).toEqual([]);
  });

  test('while the pool has surplus VMs, since scale-in removes the unhealthy one', () => {
    const planned = plan({ vms, spec: { replicas: 9 } });
    expect([begun(planned), removed(planned)]).toEqual([[], ['web-1']]);
  });
  test.each<[string, PoolSpec['scaleInStrategy']]>([
    ['unmanaged', { unmanaged: {} }],
    ['opportunistic', { opportunistic: {} }],
  ])('replaces a surplus VM under %s scale-in, which does not remove it', (_kind, scaleInStrategy = {}) => {
    const spec = { replicas: 9, scaleInStrategy };
    expect(begun(plan({ vms: [sick(1), ...numbered(well, 2, 10)], spec }))).toEqual(['web-1']);
    const others = numbered(well, 2, 10);
    const gone = plan({ vms: others, spec, state: { cycles: [cycle(1, 'Removing')] } });
    expect([outcomes(gone), created(gone)]).toEqual([{}, []]);
    expect(created(plan({ vms: others, spec, state: { cycles: [cycle(1, 'Provisioning')] } }))).toEqual([1]);
  });
});

const fleet = (count: number, more: Given = {}): PoolPlan =>
  plan({ vms: numbered(sick, 1, count).concat(numbered(well, count + 1, 10)), ...more });

describe('the breaker', () => {
  test('trips above 40 %', () => {
    expect([begun(fleet(4)).length, begun(fleet(5)).length]).toEqual([4, 0]);
    expect(fleet(5).healing).toMatchObject({
      suspended: expect.stringContaining('5 VMs are unhealthy or being replaced, more than 4') as string,
      state: { mode: 'NoNewReplacements' },
    });
  });
  test('counts those that are being replaced', () => {
    const vms = [sick(1), sick(2), ...numbered(well, 3, 7)];
    const state = { cycles: [8, 9, 10].map((n) => cycle(n, 'Waiting', { nextAt: at(NOW + HOUR) })) };
    expect(begun(plan({ vms, spec: { replicas: 10 }, state }))).toEqual([]);
    expect(begun(plan({ vms, spec: { replicas: 10 }, state: { cycles: state.cycles.slice(1) } }))).toEqual([
      'web-1',
      'web-2',
    ]);
  });
  test.each<FinishedCycle['end']>(['GivenUp', 'Refused'])(
    'counts VMs that healing could not bring back (%s): others that follow them have the same fault',
    (end) => {
      const finished = [1, 2, 3].map((n) => finishedOn(n, end, { at: at(NOW) }));
      expect(begun(fleet(4, { state: { finished } }))).toEqual(['web-4']);
      expect(begun(fleet(5, { state: { finished } }))).toEqual([]);
      expect(fleet(5, { state: { finished } }).healing.suspended).toContain('5 VMs are unhealthy');
    },
  );
  test('does not count a VM that a user has skipped', () => {
    const finished = [1, 2, 3].map((n) => finishedOn(n, 'Skipped'));
    expect(begun(fleet(5, { state: { finished } }))).toEqual(['web-4', 'web-5']);
  });
  test('never suspends healing because of a single VM', () =>
    expect(begun(plan({ vms: [sick(1), well(2)] }))).toEqual(['web-1']));
  test.each([
    [2, 2, 2],
    [3, 2, 2],
    [4, 2, 2],
    [4, 3, 0],
  ])('of a pool of %i with %i unhealthy VMs lets %i be healed', (replicas, count, healed) => {
    expect(begun(plan({ vms: [...numbered(sick, 1, count), ...numbered(well, count + 1, replicas)] })).length).toBe(
      healed,
    );
  });
  test('takes a number as it is', () =>
    expect(begun(plan({ vms: [sick(1), sick(2), well(3)], rules: { maxUnhealthy: 1 } }))).toEqual([]));
  test("follows the pool's own limit", () =>
    expect(begun(fleet(10, { rules: { maxUnhealthy: '100%' } })).length).toBe(10));
});

describe('limits on concurrent cycles', () => {
  const vms = numbered(sick, 1, 6).concat(numbered(well, 7, 20));
  test.each<[string, Given, string[]]>([
    ['maxConcurrent', { rules: { maxConcurrent: 2 } }, ['web-1', 'web-2']],
    ['a percentage of the pool', { rules: { maxConcurrent: '15%' } }, ['web-1', 'web-2', 'web-3']],
    ['the burst cap', { burst: 4 }, ['web-1', 'web-2', 'web-3', 'web-4']],
    [
      'those beside the cycles in progress',
      { rules: { maxConcurrent: 2 }, state: { cycles: [cycle(6, 'Removing')] } },
      ['web-1'],
    ],
    [
      'the burst cap, with the cycles in progress',
      { burst: 4, state: { cycles: [cycle(6, 'Removing')] } },
      ['web-1', 'web-2', 'web-3'],
    ],
    [
      'what is not in flight for another reason',
      { burst: 4, vms: vms.map((vm, index) => (index > 17 ? { ...vm, deleting: true, leavingSince: NOW } : vm)) },
      ['web-1', 'web-2'],
    ],
    [
      'what has been leaving for so long that it holds up no other',
      {
        burst: 4,
        vms: vms.map((vm, index) => (index > 17 ? { ...vm, deleting: true, leavingSince: NOW - BLOCKS_FOR_MS } : vm)),
      },
      ['web-1', 'web-2', 'web-3', 'web-4'],
    ],
  ])('%s', (_what, given, names) => expect(begun(plan({ vms, ...given }))).toEqual(names));

  test('at most one cycle runs if no VM of the pool has ever run', () => {
    const never = { vms: numbered((n) => sick(n, { notYetRun: '' }), 1, 6) };
    expect([begun(plan(never)), plan(never).healing.suspended]).toEqual([['web-1'], null]);
    const one = { ...never, vms: [...never.vms, well(7)] };
    expect(begun(plan({ ...one, rules: { maxUnhealthy: '100%' } })).length).toBe(6);
    expect(plan(one).healing.suspended).toContain('they probably have a common cause');
  });
});

test('a VM whose deletion was refused holds no place, and is tried again after delays that grow', () => {
  const refused = (ms: number, refusals: number): PoolPlan =>
    plan({
      vms: [sick(1), sick(2), ...numbered(well, 3, 10)],
      rules: { maxConcurrent: 1 },
      state: {
        finished: [
          finishedOn(1, 'Refused', { attempts: 0, refusals, message: 'denied by a policy', at: at(NOW - ms) }),
        ],
      },
    });
  expect([
    begun(refused(9_000, 1)),
    begun(refused(10_000, 1)),
    begun(refused(39_000, 3)),
    begun(refused(40_000, 3)),
  ]).toEqual([['web-2'], ['web-1'], ['web-2'], ['web-1']]);
  expect(refused(9_000, 1).healing.notReplaced[0]).toEqual({
    vm: 'web-1',
    message: '3 starts in a row have failed',
    waitsFor: `its deletion was refused (denied by a policy), and is asked for again at ${at(NOW + 1_000)}`,
  });
  const alone = plan({
    vms: [sick(1), ...numbered(well, 2, 5)],
    state: { finished: [finishedOn(1, 'Refused', { attempts: 0, refusals: 1, at: at(NOW) })] },
  });
  expect([alone.requeueAt, condition(alone, 'Healing')?.reason]).toEqual([NOW + 10_000, 'Waiting']);
});

describe('a revision that no VM has run yet', () => {
  const template = { spec: { runStrategy: 'Always', template: { spec: { domain: {}, hostname: 'new' } } } } as const;
  const newest = revisionOf(template);
  const status: PoolStatus = {
    replicas: 10,
    currentRevision: revisionOf(aPool().spec.template),
    updateRevision: newest,
  };
  const vms = [sick(1, { revision: newest }), ...numbered(well, 2, 10)];
  test('is judged by its rollout, not by healing', () => {
    const planned = plan({ vms, spec: { template }, status });
    expect(begun(planned)).toEqual([]);
    expect(planned.healing.notReplaced).toMatchObject([{ waitsFor: expect.stringContaining('its rollout decides') }]);
  });
  test('is healed when one of its VMs is ready, or if nothing rolls it out', () => {
    expect(begun(plan({ vms: vms.with(1, well(2, { revision: newest })), spec: { template }, status }))).toEqual([
      'web-1',
    ]);
    expect(begun(plan({ vms, spec: { template, updateStrategy: { opportunistic: {} } }, status }))).toEqual(['web-1']);
  });
  test('is healed after one of its VMs has run well, even if that very VM fails', () => {
    const rollout = { revision: newest, batches: 1, lastBatch: 1, step: 0, startedAt: at(NOW - HOUR), failures: [] };
    const canary = plan({ vms: vms.with(0, well(1, { revision: newest })), spec: { template }, status, rollout });
    expect(canary.rollout.state.firstAvailableAt).toBe(at(NOW));
    expect(begun(plan({ vms, spec: { template }, status, rollout: canary.rollout.state }))).toEqual(['web-1']);
    // A VM whose VMI has yet to restart proves nothing.
    const written = plan({
      vms: vms.with(1, well(2, { revision: newest })),
      vmiOf: (vm) => aVmi(vm, { revision: 'before' }),
      spec: { template },
      status,
      rollout,
    });
    expect([written.rollout.state.firstAvailableAt, begun(written)]).toEqual([undefined, []]);
  });
  test('is healed as soon as its rollout has ended, not at the next event', () => {
    const failed = {
      revision: newest,
      batches: 1,
      lastBatch: 1,
      step: 0,
      startedAt: at(NOW - HOUR),
      failures: [{ vm: 'web-1', message: 'it fails', at: at(NOW) }],
    };
    const first = plan({ vms, spec: { template }, status, rollout: failed });
    expect(first.rollout.phase).toBe('Failed');
    expect([begun(first), first.requeueAt]).toEqual([[], NOW]);
    expect(begun(plan({ vms, spec: { template }, status, rollout: first.rollout.state }))).toEqual(['web-1']);
  });
});

describe('a cycle', () => {
  const others = numbered(well, 2, 5);
  const judged = (vm: VmView | null, one: Partial<Cycle>, given: Given = {}): PoolPlan => {
    const state = { cycles: [cycle(1, 'Removing', one)] };
    return plan({ vms: vm === null ? others : [vm, ...others], spec: { replicas: 5 }, state, ...given });
  };
  const fresh = (fields: Partial<VmView> = {}): VmView =>
    well(1, { uid: 'new', notYetRun: '', createdAt: NOW - MINUTE, ...fields });
  const provisioning = { phase: 'Provisioning' as const };
  const failing = { ready: false, state: 'CrashLoopBackOff', startFailures: 3 };

  test.each<[string, VmView | null, Partial<Cycle>, Given, string | undefined]>([
    ['goes on when its VM is gone', null, {}, {}, undefined],
    ['goes on when another VM has its name', fresh(), {}, {}, undefined],
    ['goes on while its VM goes', sick(1, { deleting: true }), {}, {}, undefined],
    ['goes on while its VM is there', sick(1), {}, {}, undefined],
    ['ends when its VM runs well again by itself', well(1), {}, {}, 'Healed'],
    [
      'leaves a VM that must not be disrupted',
      sick(1, { optedOut: true }),
      {},
      {},
      'Left: its owner opted out of disruption',
    ],
    ['leaves a VM that was stopped', sick(1, { runStrategy: 'Halted' }), {}, {}, 'Left: it is not meant to run'],
    [
      'leaves a VM that was detached',
      null,
      {},
      { isVmNameTaken: (name) => name === 'web-1' },
      'Left: it has left the pool',
    ],
    ['leaves a VM that came back to the pool', sick(1), provisioning, {}, 'Left: it is there again'],
    ['goes on during its delay', null, { phase: 'Waiting' }, {}, undefined],
    [
      'goes on during its delay by a snapshot in which its VM is not yet gone',
      sick(1, { deleting: true }),
      { phase: 'Waiting' },
      {},
      undefined,
    ],
    ['goes on before the new VM is there', null, provisioning, {}, undefined],
    ['ends when the new VM runs well', fresh(), provisioning, {}, 'Healed'],
    ['goes on while the new VM starts', fresh({ ready: false, state: 'Starting' }), provisioning, {}, undefined],
    ['begins its next attempt when the new VM is sick as well', fresh(failing), provisioning, {}, 'Sick'],
    ['leaves a new VM that goes', fresh({ deleting: true }), provisioning, {}, 'Left: it leaves the pool'],
    [
      'leaves a new VM that must not be disrupted',
      fresh({ ...failing, optedOut: true }),
      provisioning,
      {},
      'Left: its owner opted out of disruption',
    ],
    [
      'leaves a new VM that nobody starts',
      fresh({ runStrategy: 'Manual', hasVmi: false, ready: false, state: 'Stopped' }),
      provisioning,
      {},
      'Left: it is not meant to run',
    ],
    ['ends when the pool goes', sick(1), {}, { deleted: true }, 'Left: the pool is deleted'],
    [
      'ends when the pool needs fewer VMs',
      null,
      { phase: 'Waiting' },
      { spec: { replicas: 4 } },
      'Left: the pool needs fewer VMs now',
    ],
    [
      'ends when the pool needs fewer and its VM is just gone',
      null,
      {},
      { spec: { replicas: 4 } },
      'Left: the pool needs fewer VMs now',
    ],
    [
      'ends when the pool needs fewer and its VM goes',
      sick(1, { deleting: true }),
      {},
      { spec: { replicas: 4 } },
      'Left: the pool needs fewer VMs now',
    ],
  ])('%s', (_what, vm, one, given, outcome) => expect(outcomes(judged(vm, one, given))['web-1']).toBe(outcome));

  test('ends in time when the new VM has been ready for minReadySeconds', () => {
    const readyFor = (seconds: number): PoolPlan =>
      judged(fresh(), provisioning, {
        spec: { replicas: 5, rollout: { minReadySeconds: 60 } },
        vmiOf: (vm) => aVmi(vm, { readySince: NOW - (vm.uid === 'new' ? seconds : 3600) * 1000 }),
      });
    expect([outcomes(readyFor(59)), readyFor(59).requeueAt]).toEqual([{}, NOW + 1_000]);
    expect(outcomes(readyFor(60))).toEqual({ 'web-1': 'Healed' });
  });

  test('begins its next attempt with the facts that it is judged by', () => {
    const planned = judged(
      fresh(failing),
      { ...provisioning, attempt: 4 },
      {
        rules: { maxAttempts: 9, preserveStorage: true },
        vmiOf: (vm) => (vm.uid === 'new' ? undefined : aVmi(vm)),
        vmiHistoryOf: () => ({ longestRunMs: 0, lastEnded: null }),
      },
    );
    expect(planned.healing.begin).toMatchObject([
      {
        unhealthyVm: { name: 'web-1', attempt: 5, uid: 'new', mayHaveData: false, rules: { maxAttempts: 9 } },
        isAgain: false,
      },
    ]);
    expect(planned.healing.state.cycles).toMatchObject([{ phase: 'Removing', attempt: 5, uid: 'new' }]);
  });

  test('replaces a new VM that never became ready when its time is over', () => {
    const starting = fresh({ ready: false, state: 'Running', createdAt: NOW - 9 * MINUTE });
    expect(outcomes(judged(starting, provisioning))).toEqual({});
    expect(judged(starting, provisioning).requeueAt).toBe(NOW + MINUTE);
    expect(outcomes(judged({ ...starting, createdAt: NOW - 10 * MINUTE }, provisioning))).toEqual({
      'web-1': 'Left: it is not ready yet (Running), and does not fail',
    });
    // KubeVirt retries a failed start, until a start neither succeeds nor fails.
    const failed = { ...starting, startFailures: 1, createdAt: NOW - HOUR };
    const vmiSince = (minutes: number): Given => ({
      vmiOf: (vm) => (vm.uid === 'new' ? aVmi(vm, { createdAt: NOW - minutes * MINUTE }) : aVmi(vm)),
    });
    expect(
      outcomes(judged(failed, provisioning, { vmiOf: (vm) => (vm.uid === 'new' ? undefined : aVmi(vm)) })),
    ).toEqual({});
    expect([
      outcomes(judged(failed, provisioning, vmiSince(9))),
      judged(failed, provisioning, vmiSince(9)).requeueAt,
    ]).toEqual([{}, NOW + MINUTE]);
    expect(outcomes(judged(failed, provisioning, vmiSince(10)))).toEqual({
      'web-1': 'Left: it is not ready yet (Running), and does not fail',
    });
    const rules = { unhealthyAfter: { notReady: '5m' } };
    const vmi = (vm: VmView): VmiView => aVmi(vm, { scheduledAt: NOW - 5 * MINUTE });
    const late = { ...starting, notReadySince: NOW - 5 * MINUTE };
    expect(outcomes(judged(late, provisioning, { rules, vmiOf: vmi }))).toEqual({ 'web-1': 'Sick' });
  });
});

const endedBy = (outcome: AttemptEnd, phase: Cycle['phase'] = 'Removing', fields: Partial<Cycle> = {}): Cycle =>
  cycle(1, phase, { run: { state: 'Ended', outcome }, ...fields });

describe('the end of an attempt', () => {
  const others = numbered(well, 2, 5);
  const nextAt = at(NOW - MINUTE);
  const paused = { by: 'kim', at: at(NOW) };
  const removed = endedBy({ end: 'Removed', keptDisks: false, nextAt }, 'Waiting', { nextAt });
  const after = (one: Cycle, vms = others, state: Partial<HealingState> = {}): PoolPlan =>
    plan({ vms, spec: { replicas: 5 }, state: { ...state, cycles: [one] } });

  test('lets the VM be recreated at once', () => {
    const planned = after(removed);
    expect([phases(planned), created(planned)]).toEqual([{ 'web-1': 'Provisioning' }, [1]]);
    expect(planned.healing.state.cycles[0]).not.toHaveProperty('nextAt');
  });

  test("waits for the end of a pause, unless a user ends the VM's delay, and not for the end of a suspension", () => {
    const held = after(removed, others, { paused });
    expect([phases(held), created(held)]).toEqual([{ 'web-1': 'Waiting' }, []]);
    expect(created(after({ ...removed, skipDelay: true }, others, { paused }))).toEqual([1]);
    const suspended = plan({ vms: numbered(sick, 2, 5), spec: { replicas: 5 }, state: { cycles: [removed] } });
    expect([suspended.healing.state.mode, created(suspended)]).toEqual(['NoNewReplacements', [1]]);
  });

  test.each<[AttemptEnd, Partial<FinishedCycle>]>([
    [
      { end: 'Kept', message: 'it is no longer unhealthy' },
      { end: 'Left', uid: 'uid-of-web-1', attempts: 0 },
    ],
    [
      { end: 'Refused', message: 'denied' },
      { end: 'Refused', uid: 'uid-of-web-1', attempts: 0, refusals: 1 },
    ],
    [
      { end: 'Cancelled', isRemoved: false },
      { end: 'Skipped', uid: 'uid-of-web-1', attempts: 0 },
    ],
    [
      { end: 'Cancelled', isRemoved: true },
      { end: 'Skipped', uid: '', attempts: 1 },
    ],
  ])('%j ends its cycle', (outcome, end) => {
    const { healing } = after(endedBy(outcome), [sick(1), ...others]);
    expect(healing).toMatchObject({ state: { cycles: [], finished: [end] }, cancel: [] });
    expect(healing.events).toMatchObject([{ ended: { vm: 'web-1', end: end.end } }]);
  });
});

describe('a cycle that ends', () => {
  const others = numbered(well, 2, 5);
  const over = (one: Partial<Cycle>, vm: VmView | null = sick(1), given: Given = {}): PoolPlan =>
    plan({
      vms: vm === null ? others : [vm, ...others],
      spec: { replicas: 5 },
      state: { cycles: [cycle(1, 'Removing', one)] },
      ...given,
    });

  test('has its running attempt cancelled, and no other', () => {
    const skipped = 'skipped by kim';
    expect(over({ skipped }).healing.cancel).toEqual([
      { vm: 'web-1', uid: 'uid-of-web-1', attempt: 1, startedAt: at(NOW - MINUTE) },
    ]);
    expect(cancelled(over({ skipped, run: { state: 'Unknown' } }))).toEqual(['web-1']);
    expect(cancelled(over({ skipped, run: { state: 'NotBegun' } }))).toEqual([]);
    expect(cancelled(over({ skipped, phase: 'Provisioning' }))).toEqual([]);
    expect(cancelled(over({}, sick(1), { deleted: true }))).toEqual(['web-1']);
    expect(cancelled(over({}, sick(1), { rules: {}, isVmNameTaken: () => true }))).toEqual([]);
  });

  test('keeps other operations off the VM until the attempt has ended', () => {
    const template = { spec: { runStrategy: 'Always', template: { spec: { domain: {}, hostname: 'new' } } } } as const;
    const spec = { replicas: 5, template, maxUnavailable: 5 };
    const taken = (given: Given): string[] =>
      over({}, well(1), { spec, ...given }).steps.flatMap((step) =>
        step.kind === 'update' ? step.batch.vms.map(({ name }) => name) : [],
      );
    expect(taken({})).not.toContain('web-1');
    expect(taken({ state: {}, inProgress: { creating: [], deleting: [], cancelled: ['web-1'] } })).not.toContain(
      'web-1',
    );
    expect(taken({ state: {} })).toContain('web-1');
    const vms = [sick(1), ...others];
    expect(begun(plan({ vms, inProgress: { creating: [], deleting: [], cancelled: ['web-1'] } }))).toEqual([]);
  });

  test('leaves whichever VM is there when the attempt has ended, if a user skips it', () => {
    const skipped = over({ skipped: 'skipped by kim' });
    expect(skipped.healing.state.finished).toMatchObject([{ end: 'Skipped', uid: '', message: 'skipped by kim' }]);
    const during = plan({
      vms: [sick(1), ...others],
      state: skipped.healing.state,
      inProgress: { creating: [], deleting: [], cancelled: ['web-1'] },
    });
    expect(during.healing.state.finished).toMatchObject([{ uid: '' }]);
    const next = plan({ vms: [sick(1, { uid: 'new' }), ...others], state: during.healing.state });
    expect([begun(next), next.healing.state.finished]).toMatchObject([[], [{ uid: 'new' }]]);
    const made = over({ skipped: 'skipped by kim', phase: 'Provisioning' }, sick(1, { uid: 'new' }));
    expect(made.healing.state.finished).toMatchObject([{ uid: 'new', attempts: 1 }]);
    expect(over({ skipped: 'skipped by kim', phase: 'Waiting' }, null).healing.state.finished).toMatchObject([
      { uid: '', attempts: 1 },
    ]);
  });

  test('is reported by an Event, unless the VM runs well again by itself', () => {
    const fresh = well(1, { uid: 'new' });
    expect(over({ phase: 'Provisioning' }, fresh).healing.events).toMatchObject([
      { type: 'Normal', reason: 'Healed', note: 'web-1 runs well after 1 replacement' },
    ]);
    expect(over({}, well(1)).healing.events).toEqual([]);
    expect(over({ skipped: 'skipped by kim' }).healing.events).toMatchObject([
      { type: 'Normal', reason: 'HealingEnded', note: 'web-1: skipped by kim' },
    ]);
  });

  const failing = sick(1, { uid: 'new' });
  const provisioning = { phase: 'Provisioning' } as const;
  test('is given up after maxAttempts', () => {
    const planned = over({ ...provisioning, attempt: 2 }, failing, { rules: { maxAttempts: 2 } });
    expect(planned.healing.state).toMatchObject({
      cycles: [],
      finished: [{ end: 'GivenUp', uid: 'new', attempts: 2, message: expect.stringMatching(/^given up after 2 repl/) }],
    });
    expect(planned.healing.events).toMatchObject([{ type: 'Warning', reason: 'HealingGivenUp' }]);
  });

  test('is given up after three VMs in a row on the same disks, if the pool sets no limit', () => {
    const onSame = [
      [2, {}],
      [3, {}],
      [3, { maxAttempts: 9 }],
    ] as const;
    const planned = onSame.map(([onSameDisks, rules]) =>
      over({ ...provisioning, attempt: 7, onSameDisks }, failing, { rules }),
    );
    expect(planned.map(outcomes)).toEqual([{ 'web-1': 'Sick' }, { 'web-1': 'GivenUp' }, { 'web-1': 'Sick' }]);
  });
});

describe('an attempt begins', () => {
  const others = numbered(well, 2, 5);
  const begins = (one: Partial<Cycle>, vm: VmView | null = sick(1), given: Given = {}): PoolPlan =>
    plan({
      vms: vm === null ? others : [vm, ...others],
      spec: { replicas: 5 },
      ...given,
      state: { ...given.state, cycles: [cycle(1, 'Removing', one)] },
    });
  const ago = (minutes: number): Partial<Cycle> => ({ run: { state: 'Running', since: NOW - minutes * MINUTE } });
  const paused = { by: 'kim', at: at(NOW) };

  test('again when it is overdue, and the pool wakes for that', () => {
    expect([begun(begins(ago(9))), begins(ago(9)).requeueAt]).toEqual([[], NOW + MINUTE]);
    const again = begins(ago(10));
    expect(again.healing.begin).toMatchObject([{ unhealthyVm: { name: 'web-1', attempt: 1 }, isAgain: true }]);
    expect(again.healing.state.cycles[0]!.run).toEqual({ state: 'Running', since: NOW });
  });

  test('again only when its delay is long over: until then nothing polls it', () => {
    const waiting = { phase: 'Waiting', nextAt: at(NOW + HOUR), ...ago(60) } as const;
    const later = (minutes: number): PoolPlan => begins(waiting, null, { now: NOW + minutes * MINUTE });
    expect([begun(later(69)), later(69).requeueAt, begun(later(70))]).toEqual([[], NOW + 70 * MINUTE, ['web-1']]);
  });

  test.each<[string, Partial<Cycle>, VmView | null, Given]>([
    ['healing is paused', ago(60), sick(1), { state: { paused } }],
    ['too many are unhealthy', ago(60), sick(1), { vms: numbered(sick, 1, 5) }],
    ['the VM that is deleted is not yet gone', ago(60), sick(1, { deleting: true }), {}],
    [
      'the new VM is watched',
      { ...ago(60), phase: 'Provisioning' },
      well(1, { uid: 'new', ready: false, createdAt: NOW }),
      {},
    ],
    [
      'it has ended',
      { run: { state: 'Ended', outcome: removedAt(NOW) }, phase: 'Waiting' },
      null,
      { state: { paused } },
    ],
  ])('again only when the next step is its own: %s', (_why, one, vm, given) => {
    const planned = begins(one, vm, given);
    expect([begun(planned), phases(planned)['web-1']]).toEqual([[], one.phase ?? 'Removing']);
  });

  test("only after a pause or suspension, unless a user ends the VM's delay, or the VM is already gone", () => {
    const next = { run: { state: 'NotBegun' }, attempt: 2 } as const;
    expect(begun(begins(next, sick(1), { state: { paused } }))).toEqual([]);
    expect(begun(begins(next, sick(1), { vms: numbered(sick, 1, 5) }))).toEqual([]);
    expect(begun(begins({ ...next, skipDelay: true }, sick(1), { state: { paused } }))).toEqual(['web-1']);
    expect(begun(begins(next, null, { state: { paused } }))).toEqual(['web-1']);
    expect(begins(next).healing.begin).toMatchObject([
      { unhealthyVm: { attempt: 2 }, isAgain: false, skipDelay: false },
    ]);
  });

  test('again in a workflow that knows it from the status alone, with no longer delay than before', () => {
    const nextAt = at(NOW + HOUR);
    const { run: _, ...one } = cycle(1, 'Waiting', { nextAt, onSameDisks: 1 });
    const status = { replicas: 4, healing: { cycles: [one], finished: [] } };
    const pool = poolOf({ vms: others, spec: { replicas: 5 }, status });
    const planned = planPool({ ...quiet, pool, vms: others, healing: stateFrom(status.healing), burst: 9, now: NOW });
    expect(planned.healing.begin).toMatchObject([
      { removed: { nextAt, keptDisks: true }, startedAt: one.startedAt, isAgain: true },
    ]);
    expect([reservedByHealing(planned.healing.state), created(planned)]).toEqual([['web-1'], []]);
    expect(planned.status?.healing?.cycles ?? [one]).toEqual([one]);
  });
});

test.each(['Running', 'Unknown'] as const)(
  'a VM is made at once if a user has ended its delay, and nothing waits for its attempt: %s',
  (state) => {
    const one = cycle(1, 'Waiting', {
      nextAt: at(NOW + HOUR),
      skipDelay: true,
      run: state === 'Running' ? { state, since: NOW } : { state },
    });
    const planned = plan({ vms: numbered(well, 2, 5), spec: { replicas: 5 }, state: { cycles: [one] } });
    const id = { vm: 'web-1', uid: one.uid, attempt: 1, startedAt: one.startedAt };
    expect([created(planned), planned.healing.cancel, phases(planned)]).toEqual([
      [1],
      [id],
      { 'web-1': 'Provisioning' },
    ]);
    const ended = withHealingSignal(planned.healing.state, {
      kind: 'ended',
      id,
      outcome: { end: 'Cancelled', isRemoved: true },
    });
    expect(phases(plan({ vms: numbered(well, 2, 5), spec: { replicas: 5 }, state: ended }))).toEqual({
      'web-1': 'Provisioning',
    });
  },
);

describe('a pool that shrinks', () => {
  test.each<[string, Cycle]>([
    ['is being deleted', cycle(1, 'Removing')],
    ['waits for its delay', cycle(1, 'Waiting')],
    ['is about to be made', cycle(1, 'Provisioning')],
  ])('removes the VM that %s, and no healthy one', (_what, one) => {
    const planned = plan({ vms: numbered(well, 2, 5), spec: { replicas: 4 }, state: { cycles: [one] } });
    expect(outcomes(planned)).toEqual({ 'web-1': 'Left: the pool needs fewer VMs now' });
    expect([removed(planned), created(planned)]).toEqual([[], []]);
  });

  test('loses an unhealthy VM whose removal is held, and no healthy one', () => {
    const late = sick(1, { startFailures: 0, state: 'Running' });
    const scaleInStrategy = { proactive: { selectionPolicy: { basePolicy: 'Newest' as const } } };
    const planned = plan({
      vms: [late, ...numbered(well, 2, 5)],
      spec: { replicas: 4, scaleInStrategy },
      state: { cycles: [cycle(1, 'Removing')], paused: { by: 'kim', at: at(NOW) } },
    });
    expect([outcomes(planned), removed(planned)]).toEqual([
      { 'web-1': 'Left: the pool needs fewer VMs now' },
      ['web-1'],
    ]);
  });

  test('loses healthy VMs if that is not enough', () => {
    const planned = plan({
      vms: numbered(well, 2, 5),
      spec: { replicas: 3 },
      state: { cycles: [cycle(1, 'Waiting')] },
    });
    expect([Object.keys(outcomes(planned)), removed(planned).length]).toEqual([['web-1'], 1]);
  });
});

describe('a replaced VM returns', () => {
  test('under its number, though lower ones are free', () => {
    const vms = [well(1), well(3)];
    expect(created(plan({ vms, spec: { replicas: 3 }, state: { cycles: [cycle(7, 'Provisioning')] } }))).toEqual([7]);
    expect(created(plan({ vms, spec: { replicas: 4 }, state: { cycles: [cycle(7, 'Provisioning')] } }))).toEqual([
      2, 7,
    ]);
  });

  test('only when its delay is over, and nothing takes its place', () => {
    for (const phase of ['Removing', 'Waiting'] as const)
      expect(created(plan({ vms: [well(1)], spec: { replicas: 2 }, state: { cycles: [cycle(2, phase)] } }))).toEqual(
        [],
      );
    expect(created(plan({ vms: [well(1)], spec: { replicas: 3 }, state: { cycles: [cycle(2, 'Waiting')] } }))).toEqual([
      3,
    ]);
  });
});

describe('the memory of healing', () => {
  const vms = [sick(1, { uid: 'new' }), ...numbered(well, 2, 5)];
  const next = (finished: FinishedCycle[], rules: Autohealing = {}): number | undefined =>
    plan({ vms, rules, state: { finished } }).healing.begin[0]?.unhealthyVm.attempt;
  test('continues if the last cycle did, until it has faded', () => {
    expect(next([finishedOn(1, 'Healed', { attempts: 3 })])).toBe(4);
    expect(next([finishedOn(1, 'Healed', { attempts: 3, at: at(NOW - HOUR + 1) })])).toBe(4);
    expect(next([finishedOn(1, 'Healed', { attempts: 3, at: at(NOW - HOUR) })])).toBe(1);
    expect(next([finishedOn(2, 'Healed', { attempts: 3 })])).toBe(1);
  });

  test('wakes the pool when it fades, and is gone from the status', () => {
    const planned = plan({ vms: numbered(well, 1, 5), state: { finished: [finishedOn(1, 'Healed')] } });
    expect(planned.requeueAt).toBe(NOW - MINUTE + HOUR);
    expect(
      plan({ vms: numbered(well, 1, 5), state: { finished: [finishedOn(1, 'Healed')] }, now: NOW + HOUR }).healing.state
        .finished,
    ).toEqual([]);
  });

  test('leads to giving up after maxAttempts, with a message', () => {
    const planned = plan({
      vms,
      rules: { maxAttempts: 3 },
      state: { finished: [finishedOn(1, 'Healed', { attempts: 3 })] },
    });
    expect(begun(planned)).toEqual([]);
    expect(planned.healing.state.finished).toMatchObject([{ vm: 'web-1', uid: 'new', end: 'GivenUp', attempts: 3 }]);
    expect(condition(planned, 'Healing')?.message).toContain('given up after 3 replacements');
  });

  test.each(['GivenUp', 'Skipped'] as const)('covers a VM that was %s for as long as the VM is unhealthy', (end) => {
    const long = finishedOn(1, end, { uid: 'new', at: at(NOW - 900 * HOUR) });
    expect(next([long])).toBeUndefined();
    expect(plan({ vms, state: { finished: [long] } }).healing.state.finished).toEqual([long]);
    expect(next([{ ...long, uid: 'another' }])).toBe(1);
    const isWell = plan({ vms: vms.with(0, well(1, { uid: 'new' })), state: { finished: [long] } });
    expect(isWell.healing.state.finished).toMatchObject([{ end: 'Healed', at: at(NOW) }]);
  });

  test('covers the successor of a VM that was skipped after its deletion', () => {
    const state = { finished: [finishedOn(1, 'Skipped', { uid: '' })] };
    const next = plan({ vms: [sick(1), ...numbered(well, 2, 9)], state });
    expect(begun(next)).toEqual([]);
    expect(next.healing.notReplaced).toMatchObject([{ waitsFor: 'its healing was skipped by a user' }]);
    // A new VM of this name, which a user had recreated, is healed.
    expect(
      begun(plan({ vms: [sick(1, { uid: 'another' }), ...numbered(well, 2, 9)], state: next.healing.state })),
    ).toEqual(['web-1']);
  });
});

const marked = (given: Given): string[] =>
  plan(given).steps.flatMap((step) => (step.kind === 'annotateRuns' ? step.vms.map(({ name }) => name) : []));

describe('the fact that a VM has run well', () => {
  test('is recorded once on each such VM', () => {
    const vms = [well(2, { notYetRun: '' }), well(1, { notYetRun: '' }), well(3), sick(4, { notYetRun: '' })];
    expect(marked({ vms })).toEqual(['web-1', 'web-2']);
    expect(
      marked({
        vms,
        spec: { rollout: { minReadySeconds: 60 } },
        vmiOf: (vm) => aVmi(vm, { readySince: NOW - MINUTE + 1 }),
      }),
    ).toEqual([]);
  });

  test('is recorded when a VMI has been ready for long enough, not at the next event: the VMI may have failed by then', () => {
    const rollout = { minReadySeconds: 60 };
    const vmiOf = (vm: VmView): VmiView => aVmi(vm, { readySince: NOW - 1_000 });
    const wakeAt = (vm: VmView, finished: FinishedCycle[] = []): number | null =>
      plan({ vms: [vm], spec: { rollout }, vmiOf, state: { finished } }).healing.requeueAt;
    expect(wakeAt(well(1, { notYetRun: '' }))).toBe(NOW + 59_000);
    expect(wakeAt(well(1), [finishedOn(1, 'GivenUp')])).toBe(NOW + 59_000);
    expect(wakeAt(well(1))).toBeNull();
    expect(marked({ vms: [well(1, { notYetRun: '' })], spec: { rollout }, vmiOf, now: NOW + 59_000 })).toEqual([
      'web-1',
    ]);
  });

  test('is retried later if it could not be recorded', () => {
    expect(plan({ vms: [well(1, { notYetRun: '' })] }).requeueAt).toBe(NOW + MINUTE);
  });

  test("is recorded in the end of all, though a whole step's worth of writes is refused for ever", () => {
    const vms = numbered((n) => well(n, { notYetRun: '' }), 1, 11);
    const seen = new Set([0, 1, 2, 3].flatMap((minute) => marked({ vms, burst: 4, now: NOW + minute * MINUTE })));
    expect(seen.size).toBe(11);
  });
});

const down = { ready: false, phase: 'Scheduling', runningSince: null } as const;

/** The marks for this VM, which is one of five. */
const notes = (
  vm: VmView,
  vmiHistory: VmiHistory | null,
  vmiOf = (one: VmView): VmiView | undefined => aVmi(one, { ...down, uid: 'fourth' }),
  rules: Autohealing = {},
): object[] =>
  plan({
    vms: [vm, ...numbered(well, 2, 5)],
    vmiOf: (one) => (one === vm ? vmiOf(one) : aVmi(one)),
    vmiHistoryOf: () => vmiHistory,
    rules,
  }).steps.flatMap((step) => (step.kind === 'annotateRuns' ? step.vms : []));

const young = (fields: Partial<VmView> = {}): VmView =>
  sick(1, { notYetRun: '', lastFailedVmi: 'third', createdAt: NOW - 35 * MINUTE, ...fields });
const seenAll: VmiHistory = { longestRunMs: 0, lastEnded: 'third' };
const holds = (vm: VmView, vmiHistory: VmiHistory | null, given: Given = {}): boolean | undefined =>
  plan({
    vms: [vm, ...numbered(well, 2, 5)],
    vmiOf: (one) => aVmi(one, down),
    vmiHistoryOf: () => vmiHistory,
    ...given,
  }).healing.begin[0]?.unhealthyVm.mayHaveData;

describe('the disks of a VM', () => {
  test.each<[string, VmView, VmiHistory | null, boolean]>([
    ['hold nothing if a worker has followed it since it was made, and no VMI ran', young(), seenAll, false],
    ['hold something if nobody was there to follow it, though nothing says that it ran', young(), null, true],
    ['hold something if a VMI ran that nobody noted', young(), { ...seenAll, longestRunMs: 60_000 }, true],
    ['hold something if the VM has run well, or was not made by its pool', young({ notYetRun: null }), seenAll, true],
    [
      'hold nothing if KubeVirt still speaks of the failed start up to which nothing had run',
      young({ notYetRun: 'third' }),
      null,
      false,
    ],
    [
      'hold something if the VM is older than its failed starts, whatever somebody has noted on it',
      young({ notYetRun: 'third', startFailures: 3, createdAt: NOW - 24 * 60 * MINUTE }),
      null,
      true,
    ],
    ['hold something if starts have failed since that nobody followed', young({ notYetRun: 'second' }), null, true],
  ])('%s', (_what, vm, vmiHistory, expected) => expect(holds(vm, vmiHistory)).toBe(expected));

  test('hold data if its VMI has run, ready or not, for longer than a start takes to pass', () => {
    const ran = (probationMs: number | null) => ({
      vmiOf: (one: VmView) => aVmi(one, { ready: false, phase: 'Running', runningSince: NOW - MINUTE, probationMs }),
    });
    expect(holds(young(), seenAll, ran(null))).toBe(true);
    expect(holds(young(), seenAll, ran(2 * MINUTE))).toBe(false);
    expect(holds(young(), seenAll, { ...ran(null), spec: { replicas: 5, rollout: { minReadySeconds: 120 } } })).toBe(
      false,
    );
  });

  test('are recorded as empty for the next worker by a note of the newest start, on VMs that have failed to start', () => {
    const note = (start: string): object[] => [
      { name: young().name, uid: young().uid, resourceVersion: young().resourceVersion, start },
    ];
    expect(notes(young(), seenAll)).toEqual(note('fourth'));
    expect(notes(young(), seenAll, () => undefined)).toEqual(note('third'));
    expect(notes(young({ notYetRun: 'third' }), null)).toEqual(note('fourth'));
    expect(notes(young({ notYetRun: 'fourth' }), null)).toEqual([]);
    expect(notes(young({ notYetRun: 'second' }), null)).toEqual([]);
    expect(notes(young({ lastFailedVmi: null, startFailures: 0 }), { longestRunMs: 0, lastEnded: null })).toEqual([]);
    expect(notes(young(), seenAll, undefined, { preserveStorage: true })).toEqual([]);
  });
});

describe('VMIs that end before they run well', () => {
  const vm = well(1, { ready: false, state: 'Starting' });
  const failed = (n: number, createdAt: number, ran = 30_000): VmiView =>
    aVmi(vm, {
      uid: `vmi-${n}`,
      phase: 'Failed',
      createdAt,
      runningSince: createdAt,
      endedAt: createdAt + ran,
      probationMs: MINUTE,
      ready: false,
    });
  const seen = (vmis: VmiView[], state: Partial<HealingState> = {}, of = vm): PoolPlan =>
    plan({ vms: [of, ...numbered(well, 2, 5)], failedVmisOf: (one) => (one.uid === vm.uid ? vmis : []), state });
  const three = [1, 2, 3].map((n) => failed(n, NOW - HOUR + n * 31_000));

  test('count as starts that failed', () => {
    expect(begun(seen(three.slice(1)))).toEqual([]);
    expect(seen(three).healing.begin).toMatchObject([{ unhealthyVm: { name: 'web-1', earlyExits: 3 } }]);
  });

  test('count once each, whichever worker has seen them', () => {
    const first = seen(three.slice(0, 1)).healing.state;
    expect(first.earlyExits).toEqual([{ vmUid: vm.uid, count: 1, vmis: ['vmi-1'], endedAt: three[0]!.endedAt }]);
    const second = seen([three[1]!], first).healing.state;
    expect(seen(three.slice(0, 2), second).healing.state).toEqual(second);
    expect(begun(seen([three[2]!], second))).toEqual(['web-1']);
  });

  test('count from one again after a VMI that ran well', () => {
    const [one, two, last] = three;
    expect(begun(seen([one!, two!, { ...last!, endedAt: last!.endedAt! + MINUTE }]))).toEqual([]);
    expect(begun(seen([one!, two!, failed(3, NOW - MINUTE)]))).toEqual([]);
    expect(seen(three, {}, well(1)).healing.state.earlyExits).toEqual([]);
  });
});

describe('a VM whose starts fail', () => {
  const rules = { startupFailureThreshold: 99, minFailingToStartDuration: '5m' };
  const seen = (minutes: number, state: Partial<HealingState>, fields: Partial<VmView> = {}): PoolPlan => {
    const now = NOW + minutes * MINUTE;
    // KubeVirt's own timestamp restarts with each start.
    return plan({
      vms: [sick(1, { startFailures: 1, notReadySince: now - 10_000, ...fields }), ...numbered(well, 2, 5)],
      rules,
      state,
      now,
    });
  };
  test('has failed since the first of them, and wakes its pool in time', () => {
    const first = seen(0, {});
    expect(first.healing.requeueAt).toBe(NOW - 10_000 + 5 * MINUTE);
    const later = seen(4, first.healing.state, { startFailures: 3 });
    expect([begun(later), later.healing.requeueAt]).toEqual([[], NOW - 10_000 + 5 * MINUTE]);
    const last = seen(5, later.healing.state, { startFailures: 4 });
    expect(last.healing.begin).toMatchObject([
      { unhealthyVm: { name: 'web-1', message: 'it fails to start for 5m', failingSince: NOW - 10_000 } },
    ]);
  });
  test('has failed again if one of its starts went well', () => {
    const between = seen(4, seen(0, {}).healing.state, { startFailures: 0 });
    expect(begun(seen(6, between.healing.state))).toEqual([]);
  });
});

describe('a VM whose VMI a user has paused', () => {
  const rules = { unhealthyAfter: { notReady: '10m' } };
  const vms = [well(1, { ready: false, notReadySince: NOW - HOUR }), ...numbered(well, 2, 5)];
  const given = (state: Partial<HealingState>, paused = false): PoolPlan =>
    plan({ vms, rules, state, vmiOf: (vm) => aVmi(vm, { pause: paused && !vm.ready ? BY_USER : null }) });
  const during = given({}, true).healing.state;

  test('counts as not ready from the end of the pause, and not for all the time before', () => {
    expect(during.vmiPauses).toEqual([{ vmUid: 'uid-of-web-1', endedAt: null }]);
    const resumed = given(during);
    expect([begun(resumed), resumed.healing.state.vmiPauses, resumed.requeueAt]).toEqual([
      [],
      [{ vmUid: 'uid-of-web-1', endedAt: NOW }],
      NOW + 10 * MINUTE,
    ]);
    expect(begun(plan({ vms, rules, state: resumed.healing.state, now: NOW + 10 * MINUTE }))).toEqual(['web-1']);
    expect(begun(given({}))).toEqual(['web-1']);
  });

  test.each<[string, Partial<VmView>, Partial<VmiView>]>([
    ['it migrated', {}, { migration: { name: 'm', phase: 'Running', createdAt: NOW - HOUR } }],
    ['a snapshot of it was taken', { operations: SNAPSHOT }, {}],
    ['its owner had opted out', { optedOut: true }, {}],
  ])('counts like that after anything else for which it was left alone: %s', (_what, vm, vmi) => {
    const busy = [{ ...vms[0]!, ...vm }, ...vms.slice(1)];
    const held = plan({ vms: busy, rules, vmiOf: (one) => aVmi(one, one.ready ? {} : vmi) });
    expect(begun(held)).toEqual([]);
    expect(begun(given(held.healing.state))).toEqual([]);
  });

  const many = [
    ...numbered((n) => well(n, { ready: false, notReadySince: NOW - HOUR }), 1, 150),
    ...numbered(well, 151, 400),
  ];
  const ofMany = (state: Partial<HealingState>, isPaused: boolean, now = NOW): PoolPlan =>
    plan({ vms: many, rules, state, now, vmiOf: (vm) => aVmi(vm, { pause: isPaused && !vm.ready ? BY_USER : null }) });

  test('counts like that however many others were paused, until it is late from then', () => {
    const paused = ofMany({}, true).healing.state;
    const resumed = ofMany(paused, false);
    expect(begun(resumed)).toEqual([]);
    const later = ofMany(resumed.healing.state, false, NOW + 10 * MINUTE);
    expect(begun(later)).toHaveLength(50);
    expect(later.healing.begin[0]!.unhealthyVm.pauseEndedAt).toBe(NOW);
    const ready = plan({ vms: numbered(well, 1, 400), rules, state: resumed.healing.state });
    expect(ready.healing.state.leftAlone).toBeUndefined();
  });

  test('counts like that if the workflow of its pool has begun anew meanwhile', () => {
    const status = ofMany({}, true).status!.healing;
    expect(begun(ofMany(stateFrom(status), false))).toEqual([]);
    const over = ofMany(ofMany({}, true).healing.state, false).status!.healing;
    expect(over!.leftAlone).toEqual({ endedAt: at(NOW) });
    expect(begun(ofMany(stateFrom(over), false, NOW + 9 * MINUTE))).toEqual([]);
    expect(begun(ofMany(stateFrom(over), false, NOW + 10 * MINUTE))).toHaveLength(50);
  });

  test('is judged the same way if it was recreated', () => {
    const made = {
      ...during,
      vmiPauses: [{ vmUid: 'uid-of-web-1', endedAt: null }],
      cycles: [cycle(1, 'Provisioning', { uid: 'before' })],
    };
    expect(outcomes(given(made))).toEqual({});
    expect(outcomes(given({ ...made, vmiPauses: [] }))).toEqual({ 'web-1': 'Sick' });
  });

  test('is treated like any other VM once it is ready again', () => {
    const ready = plan({
      vms: numbered(well, 1, 5),
      spec: { rollout: { minReadySeconds: 9 } },
      rules,
      state: during,
      vmiOf: (vm) => aVmi(vm, { readySince: NOW }),
    });
    expect(ready.healing.state.vmiPauses).toEqual([]);
  });
});

const skippedOnes = (count: number) => Array.from({ length: count }, (_, n) => finishedOn(n + 1, 'Skipped'));
const ofManySick = (state: Partial<HealingState>): PoolPlan =>
  plan({ vms: [...numbered(sick, 1, 502), ...numbered(well, 503, 2_000)], state });

describe('of VMs whose healing has ended, none is forgotten', () => {
  test('so no cycle begins that would not find a place once it ends', () => {
    expect(begun(ofManySick({ finished: skippedOnes(499) }))).toEqual(['web-500']);
    const full = ofManySick({ finished: skippedOnes(499), cycles: [cycle(500, 'Waiting')] });
    expect(begun(full)).toEqual([]);
    expect(full.healing.notReplaced[499]).toBeUndefined();
    expect(full.healing.notListed).toBe(451);
  });

  test('so a VM that a user has skipped stays as it is, however many others are skipped after it', () => {
    const skipped = ofManySick({ finished: skippedOnes(499), cycles: [cycle(500, 'Removing', { skipped: 'by ada' })] });
    const { finished } = skipped.healing.state;
    expect([finished.length, finished[0]!.vm]).toEqual([500, 'web-1']);
    expect(begun(ofManySick(skipped.healing.state))).toEqual([]);
  });
});

test('a VM that a user may take for unhealthy, and is not, is reported with the reason', () => {
  const planned = plan({
    vms: [
      well(1, { ready: false, state: 'ErrorUnschedulable' }),
      well(2, { ready: false, state: 'Provisioning' }),
      ...numbered(well, 3, 9),
    ],
  });
  expect(condition(planned, 'Healing')).toMatchObject({
    status: 'False',
    reason: 'NothingToHeal',
    message: 'web-1 is not replaced: it waits (ErrorUnschedulable), and a new one would wait as well',
  });
  const optedOut = plan({ vms: [sick(1, { optedOut: true }), well(2, { optedOut: true }), ...numbered(well, 3, 9)] });
  expect(begun(optedOut)).toEqual([]);
  expect(condition(optedOut, 'Healing')).toMatchObject({
    reason: 'NothingToHeal',
    message: 'web-1 is not replaced: its owner opted out of disruption (3 starts in a row have failed)',
  });
});

test('the report of a plan stays short, however many VMs are unhealthy', () => {
  const vms = numbered((n) => sick(n, { notYetRun: '' }), 1, 600);
  const planned = plan({ vms });
  expect([planned.healing.notReplaced.length, planned.healing.notListed]).toEqual([50, 549]);
});

test.each<[string, (n: number) => VmView, Autohealing]>([
  ['starts that fail', (n) => sick(n), { maxUnhealthy: '100%' }],
  [
    'starts that fail, for long',
    (n) => sick(n, { startFailures: 1 }),
    { maxUnhealthy: '100%', minFailingToStartDuration: '1h' },
  ],
  [
    'VMIs that end early, whatever the threshold',
    (n) => well(n, { ready: false, state: 'Starting' }),
    { startupFailureThreshold: 100 },
  ],
  ['VMIs that end early', (n) => well(n, { ready: false, state: 'Starting' }), { maxUnhealthy: '100%' }],
])('the state that a pool of 10,000 VMs passes on between turns stays small: %s', (_what, make, rules) => {
  const vms = numbered(
    (n) => ({ ...make(n), uid: `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000` }),
    1,
    10_000,
  );
  const ended = [1, 2, 3, 4].map((n) => NOW - HOUR + n * 31_000);
  const failedVmisOf = (vm: VmView): VmiView[] =>
    vm.state === 'Starting'
      ? ended.map((endedAt, index) =>
          aVmi(vm, {
            uid: `${vm.uid.slice(0, -1)}${index}`,
            phase: 'Failed',
            createdAt: endedAt - 30_000,
            runningSince: endedAt - 30_000,
            endedAt,
            probationMs: MINUTE,
            ready: false,
          }),
        )
      : [];
  let state: HealingState = {
    ...noHealing,
    finished: numbered(well, 9_001, 9_100).map(({ name, uid }) => ({
      ...finishedOn(1, 'Left', { message: 'x'.repeat(128) }),
      vm: name,
      uid,
    })),
  };
  for (const turn of [0, 1, 2]) {
    const planned = plan({
      vms,
      rules,
      state,
      failedVmisOf,
      lastFailureOf: () => 'why it fails, in many words; '.repeat(40),
      now: NOW + turn * 1_000,
      spec: { rollout: { minReadySeconds: 60 } },
    });
    expect(JSON.stringify({ ...planned, status: null }).length).toBeLessThan(100 * 1024);
    state = planned.healing.state;
  }
});

test('few of the unhealthy VMs whose owners opted out are reported', () => {
  const { notReplaced, notListed } = plan({ vms: numbered((n) => sick(n, { optedOut: true }), 1, 600) }).healing;
  expect([notReplaced.length, notListed]).toEqual([50, 550]);
  expect(notReplaced[0]).toEqual({ vm: 'web-1', message: expect.stringContaining('its owner opted out') });
});

test('no more notes are written at once than VMs may be in progress', () => {
  const { steps } = plan({ vms: numbered((n) => well(n, { notYetRun: '' }), 1, 600) });
  expect(steps.flatMap((step) => (step.kind === 'annotateRuns' ? [step.vms.length] : []))).toEqual([250]);
});

const uidOf = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`;
const carry = (state: Partial<HealingState>): HealingState => carried({ ...noHealing, ...state });

describe('the state of many VMs that is passed on between turns', () => {
  const numbers = Array.from({ length: 500 }, (_, index) => index + 1);

  test('keeps the VMs whose VMIs have ended most often', () => {
    const earlyExits = numbers.map((n) => ({ vmUid: uidOf(n), count: n, vmis: [], endedAt: NOW }));
    expect(carry({ earlyExits: earlyExits }).earlyExits).toEqual(earlyExits.slice(-50));
  });

  test('keeps the VMs that have failed for the longest', () => {
    const failing = numbers.map((n) => ({ vmUid: uidOf(n), since: NOW - n }));
    expect(carry({ failing }).failing).toEqual(failing.slice(-50));
  });

  test('keeps VMs whose VMIs users have paused, and one time for all others', () => {
    const vmiPauses = numbers.map((n) => ({ vmUid: uidOf(n), endedAt: NOW - n }));
    const { leftAlone, vmiPauses: kept } = carry({ vmiPauses });
    expect([kept, leftAlone]).toEqual([vmiPauses.slice(0, 100), { endedAt: at(NOW - 101) }]);
    const lasting = numbers.map((n) => ({ vmUid: uidOf(n), endedAt: null }));
    expect(carry({ vmiPauses: lasting }).leftAlone).toEqual({});
  });
});

// Any pool, with cycles in any phase.

const anyPhase = fc.constantFrom<Cycle['phase']>('Removing', 'Waiting', 'Provisioning');
const anyMember = (n: number): fc.Arbitrary<{ vm: VmView | null; cycle: Cycle | null; isVmNameTaken: boolean }> =>
  fc.record({
    vm: fc.option(
      fc
        .record({
          make: fc.constantFrom(well, well, sick),
          fields: fc.record(
            {
              deleting: fc.boolean(),
              removing: fc.boolean(),
              optedOut: fc.boolean(),
              notYetRun: fc.constantFrom(null, ''),
              uid: fc.constantFrom(`uid-of-web-${n}`, `another-${n}`),
              runStrategy: fc.constantFrom('Always', 'Halted', 'Manual'),
            },
            { requiredKeys: [] },
          ),
        })
        .map(({ make, fields }) => make(n, fields)),
      { freq: 4 },
    ),
    cycle: fc.option(
      anyPhase.map((phase) => cycle(n, phase)),
      { freq: 1 },
    ),
    isVmNameTaken: fc.boolean(),
  });
const anyGiven: fc.Arbitrary<Given & { vms: VmView[]; state: Partial<HealingState>; burst: number }> = fc
  .record({
    members: fc
      .uniqueArray(fc.integer({ min: 1, max: 25 }), { maxLength: 16 })
      .chain((numbers) => fc.tuple(...numbers.map(anyMember))),
    replicas: fc.nat(16),
    burst: fc.integer({ min: 1, max: 8 }),
    scaleInStrategy: fc.constantFrom(
      {},
      { unmanaged: {} },
      { opportunistic: {} },
      { proactive: { statePreservation: 'Offline' as const } },
    ),
    paused: fc.boolean(),
    rules: fc.record(
      {
        maxConcurrent: fc.constantFrom(1, 2, '20%'),
        maxUnhealthy: fc.constantFrom(1, '40%', '100%'),
        maxAttempts: fc.constantFrom(1, 3),
      },
      { requiredKeys: [] },
    ),
    finished: fc
      .uniqueArray(fc.integer({ min: 1, max: 25 }), { maxLength: 5 })
      .chain((numbers) =>
        fc.tuple(
          ...numbers.map((n) =>
            fc
              .constantFrom<FinishedCycle['end']>('Healed', 'GivenUp', 'Skipped', 'Left')
              .map((end) => finishedOn(n, end)),
          ),
        ),
      ),
  })
  .map(({ members, replicas, burst, scaleInStrategy, paused, rules, finished }) => {
    const vms = members.flatMap(({ vm }) => vm ?? []);
    const held = new Set(
      members.filter(({ vm, isVmNameTaken }) => vm === null && isVmNameTaken).map((_, index) => `web-${index + 1}`),
    );
    return {
      vms,
      burst,
      rules,
      spec: { replicas, scaleInStrategy },
      isVmNameTaken: (name: string) => held.has(name) && !vms.some((vm) => vm.name === name),
      state: {
        cycles: members.flatMap((member) => member.cycle ?? []),
        finished,
        ...(paused ? { paused: { by: 'kim', at: at(NOW) } } : {}),
      },
    };
  });

const kinds = (planned: PoolPlan, ...wanted: PoolStep['kind'][]): PoolStep[] =>
  planned.steps.filter(({ kind }) => wanted.includes(kind));

const always = (
  check: (given: Given & { vms: VmView[]; state: Partial<HealingState>; burst: number }, planned: PoolPlan) => void,
): void =>
  fc.assert(
    fc.property(anyGiven, (given) => check(given, plan(given))),
    { numRuns: 100 },
  );

describe('healing of an arbitrary pool', () => {
  test('takes only VMs that are unhealthy and free, each in one cycle, within the limits', () => {
    always(({ vms, state, burst, rules }, planned) => {
      const names = begun(planned);
      for (const vm of vms.filter(({ name }) => names.includes(name))) {
        expect([vm.startFailures, vm.deleting, vm.removing, vm.optedOut, vm.runStrategy === 'Halted']).toEqual([
          3,
          false,
          false,
          false,
          false,
        ]);
      }
      const cycles = planned.healing.state.cycles.map(({ vm }) => vm);
      expect(new Set(cycles).size).toBe(cycles.length);
      const before = (state.cycles ?? []).length;
      if (names.length > 0) expect(planned.healing.state.cycles.length).toBeLessThanOrEqual(Math.max(before, burst));
      if (names.length > 0 && rules?.maxConcurrent === 1) expect(planned.healing.state.cycles.length).toBe(1);
      if (state.paused !== undefined || planned.healing.suspended !== null) expect(names).toEqual([]);
    });
  });

  test('removes no VM in place of one that is being replaced', () => {
    always(({ vms }, planned) => {
      const cycles = new Set(planned.healing.state.cycles.map(({ vm }) => vm));
      const going = kinds(planned, 'delete', 'halt').flatMap((step) =>
        'vms' in step && step.reason.includes('more than') ? step.vms.map(({ name }) => name) : [],
      );
      if (going.every((name) => cycles.has(name))) return;
      const present = new Set(vms.filter(({ deleting, removing }) => !deleting && !removing).map(({ name }) => name));
      expect(planned.healing.state.cycles.filter(({ vm }) => !present.has(vm))).toEqual([]);
    });
  });

  test('makes no VM under a name that a cycle holds, and never grows the pool beyond its replicas', () => {
    always(({ vms, spec }, planned) => {
      const made = created(planned).map((n) => `web-${n}`);
      const held = reservedByHealing(planned.healing.state);
      const present = new Set(vms.map(({ name }) => name));
      expect(made.filter((name) => held.includes(name) || present.has(name))).toEqual([]);
      const coming = held.filter((name) => !present.has(name)).length;
      const { unmanaged, opportunistic } = spec!.scaleInStrategy!;
      const replaced = planned.healing.state.cycles.filter(({ phase }) => phase === 'Provisioning').map(({ vm }) => vm);
      // Surplus VMs that stay are replaced like any other.
      const comesBack =
        (unmanaged !== undefined || opportunistic !== undefined) && made.every((name) => replaced.includes(name));
      if (made.length > 0 && !comesBack)
        expect(made.length + coming + present.size).toBeLessThanOrEqual(spec!.replicas!);
    });
  });

  test('creates VMs that must be recreated first', () => {
    always(({ vms, isVmNameTaken }, planned) => {
      const present = new Set(vms.map(({ name }) => name));
      const wanted = planned.healing.state.cycles
        .filter(({ vm, phase }) => phase === 'Provisioning' && !present.has(vm) && !isVmNameTaken!(vm))
        .map(({ vm }) => vm);
      const made = created(planned).map((n) => `web-${n}`);
      if (made.some((name) => !wanted.includes(name)))
        expect(wanted.filter((name) => !made.includes(name))).toEqual([]);
    });
  });

  test('is the same in whatever order the VMs are read, and says the same when it is asked again', () => {
    always((given, planned) => {
      expect(plan({ ...given, vms: given.vms.toReversed() })).toEqual(planned);
      const again = plan({ ...given, status: planned.status ?? poolOf(given).status!, state: planned.healing.state });
      expect([again.healing.events, cancelled(again)]).toEqual([[], []]);
      if (planned.healing.state.finished.every((one) => one.at !== at(NOW))) expect(begun(again)).toEqual([]);
    });
  });

  test('waits only for times ahead', () => {
    always((_given, planned) => {
      if (planned.requeueAt !== null) expect(planned.requeueAt).toBeGreaterThan(NOW);
    });
  });
});

test('reports the VMs that wait for a user first among those that are not replaced', () => {
  const vms = [sick(1, { optedOut: true }), ...numbered((n) => sick(n), 2, 3), ...numbered(well, 4, 9)];
  const state = { finished: [finishedOn(2, 'Skipped'), finishedOn(3, 'Skipped')] };
  const { notReplaced, notListed } = plan({ vms, state }).healing;
  expect([notReplaced.map(({ vm }) => vm), notListed]).toEqual([['web-2', 'web-3', 'web-1'], 0]);
});
