import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, test } from 'vitest';
import { actionsOf, healsOf, type Action } from '../../../clients/history/actions.ts';
import { wideActionsOf } from '../../../clients/history/any-owner.ts';
import type { History } from '../../../clients/history/events.ts';
import { aboutVm, actionsTable, grouped } from '../../../clients/history/table.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

const FOLDER = join(import.meta.dirname, '../../replay/histories');
const files = readdirSync(FOLDER, { encoding: 'utf8', recursive: true }).filter((file) => file.endsWith('.json.gz'));

/** Reads the kept histories of workflows that really ran. */
const kept = (start: string): History[] =>
  files
    .filter((file) => file.startsWith(start))
    .map((file) => historyFromJSON(JSON.parse(gunzipSync(readFileSync(join(FOLDER, file))).toString())));

const payloads = (...values: unknown[]) => ({
  payloads: values.map((value) => defaultPayloadConverter.toPayload(value)),
});

/** Returns the actions in the kept histories. */
const told = (start: string): Action[] => kept(start).flatMap((history) => actionsOf('w', history));

const anAction = (more: Partial<Action>): Action => ({
  time: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  action: 'restart',
  vms: [],
  from: 'a',
  to: 'b',
  requestedBy: 'ada@desk',
  end: 'Updated',
  why: null,
  reason: 'update web-1 to b (restart)',
  workflow: 'w',
  ...more,
});

describe("a pool's workflow", () => {
  const actions = told('pool-');

  test('tells which VMs came and went, and why', () => {
    expect(new Set(actions.filter(({ vms }) => vms.length > 0).map(({ action }) => action))).toEqual(
      new Set(['create', 'halt', 'delete']),
    );
    expect(actions).toContainEqual(
      expect.objectContaining({
        action: 'create',
        vms: ['web-4'],
        end: 'Done',
        reason: 'create web-4: 2 missing of 5',
      }),
    );
    for (const { time, endedAt } of actions) expect(Date.parse(endedAt!)).toBeGreaterThanOrEqual(Date.parse(time));
  });

  test('tells what was refused, and how much of it was done', () =>
    expect(actions).toContainEqual(
      expect.objectContaining({
        end: 'Refused',
        why: expect.stringMatching(/^3 of 5 done: .* exceeded quota/) as string,
      }),
    ));

  test('tells which revision VMs were made of', () => {
    const made = actions.filter(({ action }) => action === 'create').map(({ to }) => to);
    expect(made.length).toBeGreaterThan(0);
    expect(made).toEqual(made.map(() => expect.stringMatching(/^[0-9a-f]{10}$/) as string));
  });

  test('does what it does to VMs of its own accord', () =>
    expect(new Set(actions.filter(({ vms }) => vms.length > 0).map(({ requestedBy }) => requestedBy))).toEqual(
      new Set(['drover']),
    ));

  test('tells what people asked for', () =>
    expect(actions).toContainEqual(
      expect.objectContaining({ action: 'pause', vms: [], requestedBy: 'a test', end: 'Asked' }),
    ));
});

describe('what commands have done', () => {
  const eventTime = { seconds: 1_767_225_600, nanos: 0 };
  const started = { workflowExecutionStartedEventAttributes: { workflowType: { name: 'pool' } } };
  const recorded = (said: unknown) => ({
    eventTime,
    workflowExecutionSignaledEventAttributes: { signalName: 'record', input: payloads(said) },
  });
  const toldOf = (...events: object[]): Action[] => actionsOf('w', { events: [started, ...events] });

  test('is told with who asked: scaling, and VMs that left or joined', () => {
    const events = [
      recorded({ action: 'scale', vms: [], by: 'ada', from: 4, to: 6 }),
      recorded({ action: 'detach', vms: ['web-2'], by: 'bob', why: 'it hangs' }),
    ];
    expect(toldOf(...events)).toMatchObject([
      { action: 'scale', vms: [], from: '4 VMs', to: '6 VMs', requestedBy: 'ada', end: 'Done', why: null },
      { action: 'detach', vms: ['web-2'], from: null, to: null, requestedBy: 'bob', end: 'Done', why: 'it hangs' },
    ]);
  });

  test('is left out if it is unreadable, since anybody may send it', () =>
    expect(toldOf(recorded({ action: 'scale' }), recorded('lunch'), recorded(undefined))).toEqual([]));
});

test('standby VMs that become replicas are told', () => {
  const started = { workflowExecutionStartedEventAttributes: { workflowType: { name: 'pool' } } };
  const promotion = {
    eventId: 2,
    eventTime: { seconds: 1 },
    activityTaskScheduledEventAttributes: {
      activityType: { name: 'promoteStandbyVms' },
      input: payloads({ name: 'web' }, [{ name: 'web-4', uid: 'u' }], 2, {}),
    },
  };
  expect(actionsOf('w', { events: [started, promotion] } as unknown as History)).toMatchObject([
    { action: 'promote standby', vms: ['web-4'], requestedBy: 'drover' },
  ]);
});

describe("a replica set's workflow", () => {
  const actions = told('replica-set-');

  test('tells which VMs came and went, were adopted and released, of its own accord', () => {
    expect(new Set(actions.map(({ action }) => action))).toEqual(new Set(['create', 'adopt', 'release', 'delete']));
    expect(new Set(actions.map(({ requestedBy, from, to }) => [requestedBy, from, to].join()))).toEqual(
      new Set(['drover,,']),
    );
    for (const { vms, action } of actions)
      if (action === 'create') for (const vm of vms) expect(vm).toMatch(/^[a-z]+-[a-z0-9]{5}$/);
  });

  test('tells of VMs that were not made, because the set wanted them no more, as such', () => {
    const operation = {
      eventId: 1,
      eventTime: { seconds: 1 },
      activityTaskScheduledEventAttributes: {
        activityType: { name: 'createReplicas' },
        input: payloads({ name: 'web' }, ['web-bcdfg', 'web-cdfgh'], {}, {}),
      },
    };
    const done = { count: 1, nameConflicts: [], notWanted: ['web-cdfgh'], refused: null, minVersions: {} };
    const ended = {
      eventId: 2,
      eventTime: { seconds: 2 },
      activityTaskCompletedEventAttributes: { scheduledEventId: 1, result: payloads(done) },
    };
    const started = { workflowExecutionStartedEventAttributes: { workflowType: { name: 'replicaSet' } } };
    expect(actionsOf('w', { events: [started, operation, ended] } as unknown as History)).toMatchObject([
      { action: 'create', vms: ['web-bcdfg'], end: 'Done' },
      { action: 'create', vms: ['web-cdfgh'], end: 'NotWanted', why: 'no longer wanted when its turn came' },
    ]);
  });
});

test('a restart of VMs of any owner tells of each how it ended, and who asked', () => {
  const actions = kept('power-vms-').flatMap((history) => wideActionsOf('w', [history]));
  expect(actions.length).toBeGreaterThan(1);
  expect(actions).toContainEqual(
    expect.objectContaining({ action: 'restart', vms: [expect.stringMatching(/^[^/]+\/[^/]+$/)], end: 'Restarted' }),
  );
  for (const { time, endedAt, requestedBy, end } of actions) {
    expect({ requestedBy, end }).toEqual({
      requestedBy: expect.any(String) as string,
      end: expect.stringMatching(/^(Restarted|Failed|Gone|Deferred)$/) as string,
    });
    expect(Date.parse(endedAt!)).toBeGreaterThanOrEqual(Date.parse(time));
  }
});

test('a machine type transition tells of each VM and pool that it changed, and of each restart how it ended', () => {
  const actions = kept('machine-types-v').flatMap((history) => wideActionsOf('w', [history]));
  const changes = actions.filter(({ action }) => action === 'machine type');
  expect(changes.map(({ end }) => end)).toEqual(changes.map(() => 'Done'));
  expect(changes.filter(({ pools }) => pools.length > 0)).toMatchObject([
    { vms: [], pools: [expect.stringMatching(/^[^/]+\/web$/)] },
  ]);
  const restarts = actions.filter(({ action }) => action === 'restart').map(({ end, why }) => [end, why]);
  expect(restarts).toContainEqual(['Restarted', null]);
  expect(restarts).toContainEqual(['Failed', expect.stringMatching(/^not ready in time: /) as string]);
});

test('an undo of a machine type transition tells of which', () => {
  const transition = aTransition({ scope: { glob: '*', undoes: '1f0c92ab' } });
  const scheduled = { activityType: { name: 'patchMachineTypes' }, input: payloads({ transition, vms: ['shop/db'] }) };
  const event = {
    eventId: 1,
    eventTime: { seconds: 1_767_225_600, nanos: 0 },
    activityTaskScheduledEventAttributes: scheduled,
  };
  const [action] = wideActionsOf('w', [{ events: [event] } as unknown as History]);
  expect(action).toMatchObject({ action: 'machine type', vms: ['shop/db'], from: null, to: 'as before 1f0c92ab' });
});

test('a machine type transition tells of each VM what its type was and is', () => {
  const transition = aTransition({ scope: { glob: '*rhel8.*' } });
  const vms = ['shop/a', 'shop/b', 'shop/c'];
  const eventTime = { seconds: 1_767_225_600, nanos: 0 };
  const scheduled = {
    eventId: 1,
    eventTime,
    activityTaskScheduledEventAttributes: {
      activityType: { name: 'patchMachineTypes' },
      input: payloads({ transition, vms }),
    },
  };
  const result = {
    patched: 2,
    outcomes: [{ vm: 'shop/c', end: 'Failed', why: 'refused' }],
    changes: [
      { from: 'pc-q35-rhel8.6.0', to: 'q35', vms: ['shop/a'] },
      { from: 'pc-i440fx-rhel8.0', to: null, vms: ['shop/b'] },
    ],
  };
  const completed = {
    eventId: 2,
    eventTime,
    activityTaskCompletedEventAttributes: { scheduledEventId: 1, result: payloads(result) },
  };
  expect(wideActionsOf('w', [{ events: [scheduled, completed] } as unknown as History])).toMatchObject([
    { vms: ['shop/a'], from: 'pc-q35-rhel8.6.0', to: 'q35', end: 'Done' },
    { vms: ['shop/b'], from: 'pc-i440fx-rhel8.0', to: 'default', end: 'Done' },
    { vms: ['shop/c'], from: '*rhel8.*', end: 'Failed' },
  ]);
});

test('a batch tells of each VM from what to what, and how it ended', () => {
  const actions = told('update-batch-');
  expect(new Set(actions.map(({ end }) => end))).toEqual(new Set(['Updated', 'Superseded']));
  for (const { action, vms, from, to, reason } of actions) {
    expect(action).toBe('restart');
    expect(vms).toHaveLength(1);
    expect(from).toMatch(/^[0-9a-f]{10}$/);
    expect(to).toMatch(/^[0-9a-f]{10}$/);
    expect(to).not.toBe(from);
    expect(reason).toContain(`to ${to} (restart)`);
  }
});

describe('a healing cycle', () => {
  type Event = NonNullable<History['events']>[number];
  const startedAt = '2026-01-01T00:00:00Z';
  const healVm = (attempt: number, why: string) => {
    const input = payloads({ attempt: { sick: { name: 'web-2', uid: 'u', attempt, why }, startedAt } });
    return { workflowExecutionStartedEventAttributes: { workflowType: { name: 'healVm' }, input } };
  };
  const historyOf = (...events: object[]): History => ({
    events: events.map(
      (event, index) =>
        ({ eventId: index + 1, eventTime: { seconds: 1_767_225_600 + index, nanos: 0 }, ...event }) as unknown as Event,
    ),
  });
  const started = healVm(1, 'no start');
  const pool = { workflowExecutionStartedEventAttributes: { workflowType: { name: 'pool' }, input: payloads({}) } };
  const event = (ended?: object) => ({
    activityTaskScheduledEventAttributes: {
      activityType: { name: 'recordHealing' },
      input: payloads({}, { type: 'Normal', reason: 'Healed', note: 'x', ...(ended === undefined ? {} : { ended }) }),
    },
  });
  const removal = {
    activityTaskScheduledEventAttributes: { activityType: { name: 'removeSickVm' }, input: payloads({}, {}, 0) },
  };
  const signal = (signalName: string, more = {}) => ({
    workflowExecutionSignaledEventAttributes: { signalName, input: payloads({ by: 'ada', why: 'lunch' }), ...more },
  });
  const completed = (result: object) => ({ workflowExecutionCompletedEventAttributes: { result: payloads(result) } });
  const heal = {
    action: 'heal',
    requestedBy: 'drover',
    vms: ['web-2'],
    time: '2026-01-01T00:00:01.000Z',
    reason: 'heal web-2: no start',
  };

  const removed = completed({ end: 'Removed', keptDisks: false, nextAt: startedAt });
  test.each([
    [
      'how its cycle ended',
      removed,
      [historyOf(pool, event({ vm: 'web-2', startedAt, end: 'Healed', why: 'no start' }))],
      { end: 'Healed', endedAt: '2026-01-01T00:00:01.000Z', why: 'no start' },
    ],
    [
      'that the new VM is sick as well',
      removed,
      [historyOf(healVm(2, 'no VMI'), removal)],
      { end: 'SickAgain', why: 'no VMI', endedAt: '2026-01-01T00:00:00.000Z' },
    ],
    [
      'that the new VM is watched, whatever became of an earlier cycle',
      removed,
      [historyOf(pool, event(), event({ vm: 'web-2', startedAt: 'earlier', end: 'Left', why: 'x' }))],
      { end: 'InProgress', endedAt: null },
    ],
    ['that it goes on', { timerStartedEventAttributes: {} }, [], { end: 'InProgress', endedAt: null }],
    [
      'that nobody knows',
      { workflowExecutionTerminatedEventAttributes: {} },
      [],
      { end: 'Unknown', why: 'its workflow was terminated' },
    ],
  ])('tells of each replacement %s', (_what, last, others, how) => {
    const runs = [historyOf(started, removal, last), ...others].map((history) => ({ workflowId: 'w', history }));
    expect(healsOf(runs)[0]).toMatchObject({ ...heal, ...how });
  });

  test('tells what people asked of it, and not what its pool handed on', () =>
    expect(
      actionsOf(
        'w',
        historyOf(
          started,
          removal,
          signal('healNow'),
          signal('healNow', { externalWorkflowExecution: { workflowId: 'p' } }),
        ),
      ),
    ).toMatchObject([{ action: 'heal now', vms: ['web-2'], requestedBy: 'ada', why: 'lunch', end: 'Asked' }]));

  test('is also what people asked of its pool', () => {
    const ofVm = { input: payloads({ by: 'ada', vm: 'web-2' }) };
    expect(
      actionsOf(
        'w',
        historyOf(pool, signal('healPause'), signal('healNow', ofVm), signal('healResume', { input: payloads(null) })),
      ),
    ).toMatchObject([
      { action: 'heal pause', vms: [], requestedBy: 'ada', why: 'lunch' },
      { action: 'heal now', vms: ['web-2'], requestedBy: 'ada' },
      { action: 'heal resume', vms: [], requestedBy: null },
    ]);
  });
});

test('other workflows do nothing to VMs', () => expect(told('watch-')).toEqual([]));

test('what differs in its VMs alone is told as one, and of one VM apart', () => {
  const actions = [
    anAction({ vms: ['web-1'] }),
    anAction({ vms: ['web-3'], end: 'Failed', why: 'not ready in time' }),
    anAction({ vms: ['web-2'] }),
    anAction({ action: 'pause', end: 'Asked' }),
  ];
  expect(grouped(actions).map(({ vms, end }) => [end, vms])).toEqual([
    ['Updated', ['web-1', 'web-2']],
    ['Failed', ['web-3']],
    ['Asked', []],
  ]);
  expect(aboutVm([anAction({ vms: ['web-1', 'web-2'] }), anAction({ vms: ['web-10'] })], 'web-1')).toEqual([
    anAction({ vms: ['web-1'] }),
  ]);
});

test('two people who ask the same at once are two', () =>
  expect(grouped([anAction({ vms: [] }), anAction({ vms: [] })])).toHaveLength(2));

test('a table says why it ended so, or else why it was done', () => {
  const actions = [
    anAction({ vms: ['web-1', 'web-2', 'web-3'], end: 'Failed', why: 'not ready in time' }),
    anAction({
      action: 'create',
      vms: ['web-4'],
      from: null,
      requestedBy: 'drover',
      reason: 'create web-4: 1 missing of 4',
    }),
    anAction({ action: 'pause', from: null, to: null, end: 'Asked', reason: null, requestedBy: null }),
  ];
  const lines = actionsTable(actions, 'VM');
  expect(lines.map((line) => stripVTControlCharacters(line).split(/ {2,}/))).toEqual([
    ['TIME', 'ACTION', 'VMS', 'FROM', 'TO', 'REQUESTED BY', 'END', 'WHY'],
    ['2026-01-01T00:00:00Z', 'restart', 'web-1 … web-3', 'a', 'b', 'ada@desk', 'Failed', 'not ready in time'],
    ['2026-01-01T00:00:00Z', 'create', 'web-4', '<none>', 'b', 'drover', 'Updated', '1 missing of 4'],
    ['2026-01-01T00:00:00Z', 'pause', '<pool>', '<none>', '<none>', '<unknown>', 'Asked'],
  ]);
  expect(stripVTControlCharacters(actionsTable(actions, 'VMI')[0]!).split(/ {2,}/)[2]).toBe('VMIS');
});
