import { describe, expect, test } from 'vitest';
import { DEFAULT_DRAIN, type DrainRules } from '../../../api/rules/pool-defaults.ts';
import { evacuationNeed, type EvacuationInput, type EvacuationNeed } from '../../../decisions/drain/need.ts';
import type { Evacuation } from '../../../decisions/views/evacuation.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi, BY_USER, IO_ERROR, SNAPSHOT } from '../fixtures/fleets.ts';

const NOW = 10_000_000;
const DEADLINE = 1_800_000;

interface Given {
  vm?: Partial<VmView>;
  vmi?: Partial<VmiView> | null;
  rules?: Partial<DrainRules>;
  refusal?: EvacuationInput['refusal'];
}

const EVICTED = { evictionStrategy: 'External', evacuationNode: 'node-1', node: 'node-1', nodeDrained: true };

function need({ vm: fields = {}, vmi = {}, rules = {}, refusal }: Given = {}): EvacuationNeed {
  const vm = aVm('web-1', fields);
  return evacuationNeed({
    vm,
    vmi: vmi === null ? undefined : aVmi(vm, { ...EVICTED, ...vmi }),
    rules: { ...DEFAULT_DRAIN, ...rules },
    refusal,
    now: NOW,
  });
}

const tried = (fields: Partial<Evacuation> = {}): { evacuation: Evacuation } => ({
  evacuation: {
    attempt: 1,
    state: 'Unfinished',
    ended: 0,
    failures: 0,
    since: NOW - 5000,
    begunAt: NOW - 5000,
    endedAt: null,
    whyFailed: null,
    ...fields,
  },
});
const failed = (failures: number, endedAt: number): { evacuation: Evacuation } =>
  tried({ attempt: failures, state: 'Failed', ended: failures, failures, endedAt, whyFailed: 'no node' });

const migrates = { need: 'act', act: 'migrate', needsBudget: true };
const restarts = { need: 'act', act: 'restart', needsBudget: true };

test.each<[string, Given]>([
  ['was not to be evicted', { vmi: { evacuationNode: null } }],
  ['has left the node already', { vmi: { node: 'node-2' } }],
  ['is moved by KubeVirt itself', { vmi: { evictionStrategy: 'LiveMigrate' } }],
  ['has ended', { vmi: { phase: 'Succeeded' } }],
  ['is ending', { vmi: { deleting: true } }],
  ['has no VMI', { vmi: null }],
  ['leaves with the VM', { vm: { deleting: true } }],
])('a VM is left alone that %s', (_what, given) => {
  expect(need(given)).toEqual({ need: 'nothing' });
});

describe('a VM whose node does not answer', () => {
  const lost = { ready: false, nodeLost: true };
  const stays = {
    need: 'deferred',
    isStuck: true,
    message: expect.stringContaining('kubectl taint node node-1') as string,
  };
  test.each<[string, Given, object]>([
    ['migrates: its virt-handler may answer', { vmi: lost }, { ...migrates, needsBudget: false }],
    ['is never restarted there, where nothing can end', { vmi: { ...lost, migratable: false } }, stays],
    ['nor if its pool prefers that', { vmi: lost, rules: { method: 'Restart' } }, stays],
    ['nor when its migration is late', { vmi: { ...lost, ...tried({ since: NOW - DEADLINE }) } }, { isStuck: true }],
    ['nor after failed migrations', { vmi: { ...lost, ...failed(3, NOW - 60_000) } }, { act: 'migrate' }],
  ])('%s', (_what, given, expected) => expect(need({ vm: { ready: false }, ...given })).toMatchObject(expected));
});

describe('a VM that runs', () => {
  test.each<[string, Given, object]>([
    ['migrates if KubeVirt can', {}, { ...migrates, isBegun: false }],
    ['restarts if it cannot', { vmi: { migratable: false } }, restarts],
    ['restarts if its pool wants that', { rules: { method: 'Restart' } }, restarts],
    [
      'stays if both are out',
      { vmi: { migratable: false }, rules: { method: 'Migrate' } },
      { need: 'deferred', isStuck: true },
    ],
    ['is on its way', { vmi: tried() }, { need: 'underway', until: NOW - 5000 + DEADLINE }],
    [
      'counts its tries since it last moved',
      { vmi: tried({ attempt: 5, ended: 1 }) },
      { need: 'underway', message: 'migrates (attempt 2)' },
    ],
    [
      'is not restarted before its migration is late',
      { vmi: tried(), rules: { method: 'Restart' } },
      { need: 'underway' },
    ],
    [
      'is not late while KubeVirt has other migrations to do first',
      { vmi: tried({ since: null }), rules: { deadlineSeconds: 1 } },
      { need: 'underway', until: null, message: 'waits for KubeVirt to begin migration 1' },
    ],
    [
      'is late if KubeVirt has begun an earlier migration long ago',
      { vmi: tried({ attempt: 2, ended: 1, since: NOW - DEADLINE }) },
      restarts,
    ],
    ['restarts when its migration is late', { vmi: tried({ since: NOW - DEADLINE }) }, restarts],
    [
      'is stuck then if its pool wants no restart',
      { vmi: tried({ since: NOW - DEADLINE }), rules: { method: 'Migrate' } },
      { need: 'deferred', isStuck: true },
    ],
    ['waits after a failure', { vmi: failed(1, NOW - 4000) }, { need: 'deferred', isStuck: false, until: NOW + 6000 }],
    ['waits longer after the next', { vmi: failed(2, NOW - 4000) }, { need: 'deferred', until: NOW + 16_000 }],
    [
      'waits no longer than until its deadline',
      { vmi: failed(1, NOW - 4000), rules: { deadlineSeconds: 6 } },
      { need: 'deferred', until: NOW + 1000 },
    ],
    ['migrates again then', { vmi: failed(2, NOW - 20_000) }, { ...migrates, isBegun: true }],
    [
      'restarts after three failures',
      { vmi: failed(3, NOW) },
      { ...restarts, message: '3 migrations have failed (no node)' },
    ],
    [
      'does not restart after migrations that were aborted, or for which there was no room',
      { vmi: tried({ attempt: 5, state: 'Failed', ended: 5, failures: 2, endedAt: NOW - 500_000 }) },
      migrates,
    ],
    [
      'waits longer after each of these',
      { vmi: tried({ attempt: 5, state: 'Failed', ended: 5, failures: 2, endedAt: NOW - 159_000 }) },
      { need: 'deferred', until: NOW + 1000 },
    ],
    [
      'begins anew if its migrations are those of an earlier drain',
      { vmi: tried({ ...failed(3, NOW - 600_000).evacuation, since: NOW - 2 * DEADLINE }) },
      { ...migrates, isBegun: false },
    ],
    ['migrates on if that must not be', { vmi: failed(3, NOW - 60_000), rules: { method: 'Migrate' } }, migrates],
    [
      'begins anew once it has moved',
      { vmi: tried({ state: 'Succeeded', since: 0, endedAt: NOW }) },
      { ...migrates, isBegun: false },
    ],
  ])('%s', (_what, given, expected) => {
    expect(need(given)).toMatchObject(expected);
  });
});

describe('an eviction from a node that is not drained', () => {
  const late = failed(3, NOW - 20_000);
  const ways: [string, Given][] = [
    ['a VM that KubeVirt can migrate', {}],
    ['one that it cannot', { vmi: { migratable: false } }],
    ['one that is down', { vm: { ready: false }, vmi: { ready: false } }],
    ['one whose migrations have failed', { vmi: { evacuation: { ...late.evacuation, since: 0 } } }],
    ['one of a pool that wants restarts', { rules: { method: 'Restart' } }],
    ['one of a pool that wants migrations', { vmi: { migratable: false }, rules: { method: 'Migrate' } }],
  ];
  const calledOff = (given: Given) => need({ ...given, vmi: { ...given.vmi, nodeDrained: false } });
  const wished = (given: Given) =>
    need({ ...given, vmi: { ...given.vmi, nodeDrained: false, wishedBy: 'Descheduler' } });

  test.each(ways)('leaves %s alone if the drain was called off, and says how to take it back', (_what, given) => {
    const waits = { need: 'deferred', isStuck: false, until: null };
    expect(calledOff(given)).toEqual({
      ...waits,
      message: expect.stringContaining('virtctl evacuate-cancel') as string,
    });
    expect(calledOff(given)).toMatchObject({
      message: expect.stringContaining(
        'its evacuation from node-1 was requested, but the node is not drained',
      ) as string,
    });
  });

  test.each(ways)('never restarts %s on a request of the descheduler', (_what, given) => {
    expect(wished(given)).not.toMatchObject({ act: 'restart' });
    expect(wished(given)).not.toMatchObject({ isStuck: true });
  });

  test('migrates a VM if the descheduler asks for it, always within the budget', () => {
    expect(wished({})).toMatchObject({ ...migrates, isWish: true, message: 'the descheduler asks for that' });
    expect(wished({ vm: { ready: false } })).toMatchObject({ ...migrates, isWish: true });
    expect(wished({ vmi: { migratable: false } })).toMatchObject({
      need: 'deferred',
      message: expect.stringContaining('KubeVirt cannot migrate it; it is not restarted') as string,
    });
    expect(wished({ rules: { method: 'Restart' } })).toMatchObject({
      message: expect.stringContaining('its pool does not allow migration; it is not restarted') as string,
    });
  });

  test("migrates a VM if KubeVirt's update evicts it, and says what evicts a VM that cannot migrate", () => {
    const vmi = { nodeDrained: false, wishedBy: 'KubeVirtUpdate' } as const;
    expect(need({ vmi })).toMatchObject({ ...migrates, isWish: true, message: "KubeVirt's update asks for that" });
    expect(need({ vmi: { ...vmi, migratable: false } })).toMatchObject({
      need: 'deferred',
      message: expect.stringMatching(/^KubeVirt's update wants it to leave node-1, but KubeVirt cannot/) as string,
    });
  });

  test('belongs to a drain once the node is drained', () => {
    expect(need({ vmi: { wishedBy: 'Descheduler', migratable: false } })).toMatchObject({
      ...restarts,
      isWish: false,
    });
  });

  test('ends no migration that has begun, and sets no deadline for it', () => {
    const moving = { vmi: tried({ since: 0 }) };
    expect(calledOff(moving)).toMatchObject({ need: 'underway', until: null });
    expect(wished(moving)).toMatchObject({ need: 'underway', until: null });
  });
});

describe('a VM whose pod has not come up, which KubeVirt refuses to evict', () => {
  const vm = { ready: false };
  const starting = { evacuationNode: null, node: null, phase: 'Scheduling', ready: false, podNode: 'node-1' };
  const since = (ms: number) => ({ ...starting, podNodeCordoned: true, createdAt: NOW - ms });
  test.each<[string, Given, object]>([
    ['is left on a node that takes pods', { vm, vmi: { ...starting, createdAt: 0 } }, { need: 'nothing' }],
    ['has a minute to start on a cordoned node', { vm, vmi: since(59_999) }, { need: 'deferred', until: NOW + 1 }],
    ['restarts after that', { vm, vmi: since(60_000) }, { ...restarts, needsBudget: false }],
    [
      'is left if it tolerates cordons, so that it could start there again',
      { vm, vmi: { ...since(60_000), toleratesCordons: true } },
      { need: 'nothing' },
    ],
    [
      'restarts if its pool wants migrations',
      { vm, vmi: since(60_000), rules: { method: 'Migrate' } },
      { act: 'restart' },
    ],
    [
      'is left to its owner',
      { vm: { ...vm, optedOut: true }, vmi: since(60_000) },
      { need: 'deferred', isStuck: true },
    ],
    ['is left to KubeVirt', { vm, vmi: { ...since(60_000), evictionStrategy: 'LiveMigrate' } }, { need: 'nothing' }],
  ])('%s', (_what, given, expected) => {
    expect(need(given)).toMatchObject(expected);
  });
});

describe('a VM that serves nobody', () => {
  test.each<[string, Given]>([
    ['down', { vm: { ready: false } }],
    ['not running yet', { vm: { ready: false }, vmi: { phase: 'Scheduled', migratable: false } }],
    [
      'down, if its pool wants no restart and KubeVirt cannot migrate it',
      { vm: { ready: false }, vmi: { migratable: false }, rules: { method: 'Migrate' } },
    ],
  ])('%s: it restarts, and takes no place', (_what, given) => {
    expect(need(given)).toMatchObject({ ...restarts, needsBudget: false });
  });

  test('migrates if its pool allows no restart', () => {
    expect(need({ vm: { ready: false }, rules: { method: 'Migrate' } })).toMatchObject({
      ...migrates,
      needsBudget: false,
    });
  });

  test('keeps its memory if it is paused', () => {
    const vm = { ready: false };
    expect(need({ vm, vmi: { pause: BY_USER } })).toMatchObject({ ...migrates, needsBudget: false });
    expect(need({ vm, vmi: { pause: BY_USER, migratable: false } })).toMatchObject({ need: 'deferred', isStuck: true });
    expect(need({ vm, vmi: { pause: BY_USER, ...tried({ since: 0 }) } })).toMatchObject({
      need: 'deferred',
      isStuck: true,
    });
  });
});

test('restarts if it is a standby VM that its pool keeps paused, since no user has paused it', () => {
  const vm = { ready: false, role: 'Standby' } as const;
  const given = { vm, vmi: { pause: BY_USER, ready: false, migratable: false } };
  expect(need(given)).toMatchObject({ ...restarts, needsBudget: false });
  expect(need({ ...given, rules: { method: 'Restart' } })).toMatchObject({ act: 'restart', needsBudget: false });
});

test('restarts if an I/O error has paused it, whatever the budget', () => {
  const given = { vm: { ready: false }, vmi: { pause: IO_ERROR, ready: false } };
  expect(need(given)).toMatchObject({ ...restarts, needsBudget: false });
});

test.each<[string, Given, object]>([
  [
    'recovery by hand',
    { vm: { operations: [{ kind: 'ManualRecovery', object: null }] } },
    { need: 'deferred', isStuck: true },
  ],
  [
    'a backup',
    { vmi: { operations: [{ kind: 'Backup', object: 'b' }] } },
    { need: 'deferred', message: 'a backup of it (b) runs' },
  ],
  ['its owner', { vm: { optedOut: true } }, { need: 'deferred', isStuck: true }],
  ['a snapshot', { vm: { operations: SNAPSHOT } }, { need: 'deferred', isStuck: false }],
  [
    'a migration of somebody else',
    { vmi: { migration: { name: 'm', phase: 'Running', createdAt: 0 } } },
    { need: 'deferred' },
  ],
  ['a restart', { vm: { changingState: true } }, { need: 'underway' }],
  ['its end', { vm: { runStrategy: 'Halted' } }, { need: 'underway' }],
])('an action on a VM waits for %s', (_what, given, expected) => {
  expect(need(given)).toMatchObject(expected);
});

describe('a VM that no other node takes', () => {
  const whyNoOtherNode = 'no other node has zone=a';
  const stuck = { need: 'deferred', isStuck: true, message: whyNoOtherNode, until: NOW + 60_000 };
  const late = { ...tried({ since: NOW - DEADLINE }), whyNoOtherNode };
  test.each<[string, Given, object]>([
    ['is not restarted', { vmi: { whyNoOtherNode, migratable: false } }, stuck],
    ['is not restarted if its pool prefers that', { vmi: { whyNoOtherNode }, rules: { method: 'Restart' } }, stuck],
    ['is not migrated', { vmi: { whyNoOtherNode } }, stuck],
    ['is not restarted when its migration is late', { vmi: late }, { need: 'deferred', isStuck: true }],
    [
      'restarts if it serves nobody: its node can become empty',
      { vm: { ready: false }, vmi: { whyNoOtherNode, ready: false } },
      { ...restarts, needsBudget: false },
    ],
    ['migrates once one does', { vmi: {} }, migrates],
  ])('%s', (_what, given, expected) => {
    expect(need(given)).toMatchObject(expected);
  });

  const since = NOW - DEADLINE;
  const nowhere = { need: 'deferred', isStuck: true };
  test.each<[string, Partial<VmiView>, object]>([
    ['failed before a target was ready', tried({ state: 'Failed', ended: 6, since, endedAt: NOW - 600 }), nowhere],
    [
      'waits for a node',
      { ...tried({ since }), migration: { name: 'drain-1', phase: 'Scheduling', createdAt: since } },
      nowhere,
    ],
    ['failed on a node', tried({ state: 'Failed', ended: 6, failures: 1, since, endedAt: NOW - 400_000 }), restarts],
    ['runs', { ...tried({ since }), migration: { name: 'drain-1', phase: 'Running', createdAt: since } }, restarts],
  ])('is told by its migrations until the deadline: one that %s', (_what, vmi, expected) => {
    expect(need({ vmi })).toMatchObject(expected);
  });
});

const hotplug = (more: object) => ({ operations: [{ kind: 'Hotplug' as const, object: 'data', since: 0, ...more }] });

describe('what holds a VM for longer than its kind usually does', () => {
  const migration = (age: number) => ({ migration: { name: 'm', phase: 'Synchronizing', createdAt: NOW - age } });
  const USUAL = 6 * 3_600_000;
  test.each<[string, Given, object]>([
    ['is waited for until then', { vmi: hotplug({}) }, { isStuck: false, message: expect.stringMatching(/\(data\)$/) }],
    [
      'is stuck',
      { vmi: hotplug({ isOverdue: true }) },
      { isStuck: true, message: expect.stringMatching(/\(data\), since/) },
    ],
    [
      'also of a migration by another client: before',
      { vmi: migration(USUAL - 1) },
      { isStuck: false, until: NOW + 1 },
    ],
    [
      'also of a migration by another client: after',
      { vmi: migration(USUAL) },
      { isStuck: true, message: expect.stringContaining('is Synchronizing') },
    ],
  ])('%s', (_what, given, expected) => {
    expect(need(given)).toMatchObject({ need: 'deferred', ...expected });
  });
});

describe('a refusal of the API server', () => {
  const refusal = { vm: 'web-1', uid: 'u', message: 'forbidden', since: NOW - 1000, times: 1, notBefore: NOW + 9000 };
  test('is retried later', () => {
    expect(need({ refusal })).toMatchObject({ need: 'deferred', until: NOW + 9000, isStuck: false });
    expect(need({ refusal: { ...refusal, notBefore: NOW } })).toMatchObject({ ...migrates, isBegun: true });
  });

  test('counts for the deadline', () => {
    const late = { ...refusal, since: NOW - DEADLINE, notBefore: NOW };
    expect(need({ refusal: late })).toMatchObject(restarts);
    expect(need({ refusal: { ...late, notBefore: NOW + 1 }, rules: { method: 'Migrate' } })).toMatchObject({
      isStuck: true,
    });
  });

  test('does not count as an attempt if only the budget was full', () => {
    expect(need({ refusal: { ...refusal, since: null, times: 0, notBefore: NOW } })).toMatchObject({ isBegun: false });
  });
});

describe('a migration that KubeVirt has not begun for 15 minutes', () => {
  const pending = (minutes: number, fields: Partial<VmiView> = {}): Partial<VmiView> => ({
    ...tried({ since: null, begunAt: null }),
    migration: { name: 'drain-1', phase: 'Pending', createdAt: NOW - minutes * 60_000 },
    ...fields,
  });
  const cancelled = { need: 'act', act: 'cancel', needsBudget: false };
  const late = tried({ begunAt: null, since: NOW - DEADLINE });

  test.each<[string, Given, object]>([
    ['is waited for until then', { vmi: pending(14) }, { need: 'underway', until: NOW + 60_000 }],
    ['is taken back', { vmi: pending(15) }, { ...cancelled, refused: { isStuck: false } }],
    ['is taken back, though its drain was called off', { vmi: pending(15, { nodeDrained: false }) }, cancelled],
    ['gives way to a restart at its deadline', { vmi: pending(15, late) }, restarts],
    [
      'is taken back even then if its pool wants no restart',
      { vmi: pending(15, late), rules: { method: 'Migrate' } },
      cancelled,
    ],
    [
      'is taken back even then if its owner wants it left alone',
      { vm: { optedOut: true }, vmi: pending(15, late) },
      cancelled,
    ],
    [
      'is taken back even then if nobody drains its node',
      { vmi: pending(15, { ...late, nodeDrained: false, wishedBy: 'Descheduler' }) },
      cancelled,
    ],
    ['is taken back even then if it is paused', { vmi: pending(15, { ...late, pause: BY_USER }) }, cancelled],
    ['that KubeVirt has begun is waited for', { vmi: pending(15, tried()) }, { need: 'underway' }],
  ])('%s', (_what, given, expected) => {
    expect(need(given)).toMatchObject(expected);
  });

  test('is named', () => {
    expect(need({ vmi: pending(15) })).toMatchObject({
      message: 'KubeVirt has not begun its migration drain-1 within 15 min',
    });
  });
});
