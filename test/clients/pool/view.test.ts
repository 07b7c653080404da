import { describe, expect, test } from 'vitest';
import { rolloutView } from '../../../clients/pool/view.ts';
import { rolloutNotes } from '../../../clients/rollout/change-template.ts';
import { rolloutLines, shownRollout } from '../../../clients/rollout/lines.ts';
import { runLines } from '../../../clients/runs/run-lines.ts';
import { byApproval, hashOf, poolWith, revisionWith, templateOf, type UserRequest } from '../rollout/pools.ts';

const NOW = Date.parse('2026-01-01T00:05:00Z');
const linesOf = (said: UserRequest): string[] =>
  rolloutLines(rolloutView(poolWith(said), [revisionWith(3, 1), revisionWith(4, 2)]), NOW);

test('a rollout in progress shows its old and new revision, by number and hash', () => {
  expect(linesOf({})).toEqual(['RollingOut: so it is', `revision 4 (${hashOf(2)}), from 3 (${hashOf(1)})`]);
});

test("a revision is reported once, with its number, also in the condition's message", () => {
  const complete = `all VMs have revision ${hashOf(2)}`;
  expect(linesOf({ progressing: ['Complete', 'False', complete] })).toEqual([
    `Complete: all VMs have revision 4 (${hashOf(2)})`,
  ]);
  const under = `3 of 10 VMs updated to revision ${hashOf(2)}`;
  expect(linesOf({ progressing: ['RollingOut', 'True', under] })).toEqual([
    'RollingOut: 3 of 10 VMs updated to revision 4',
    `revision 4 (${hashOf(2)}), from 3 (${hashOf(1)})`,
  ]);
  const back = `VMs are back at revision ${hashOf(1)}: too slow`;
  expect(linesOf({ progressing: ['Undone', 'False', back] })[0]).toMatch(/: VMs are back at revision 3: too slow$/);
});

test('a revision without a known number is reported by its hash', () => {
  expect(rolloutLines(rolloutView(poolWith()), NOW)[1]).toBe(`revision ${hashOf(2)}, from ${hashOf(1)}`);
});

test('the view shows who has paused it, when and why; and the pause of the spec', () => {
  const paused = { by: 'ada@desk', at: '2026-01-01T00:04:00Z', reason: 'lunch' };
  const progressing: UserRequest['progressing'] = ['Paused', 'False'];
  expect(linesOf({ progressing, rollout: { paused } })).toContain('paused by ada@desk 60s ago: lunch');
  expect(linesOf({ progressing, spec: { paused: true } })).toContain('paused by spec.paused');
  const since = { type: 'Paused', status: 'True', reason: 'PausedBySpec', lastTransitionTime: '2026-01-01T00:02:00Z' };
  const bySpec = { ...poolWith({ spec: { paused: true } }), status: { replicas: 0, conditions: [since] } } as const;
  expect(rolloutLines(rolloutView(bySpec as never), NOW)).toContain('paused by spec.paused 3m ago');
  expect(rolloutNotes(bySpec as never)).toEqual([
    'pool web is paused by spec.paused: nothing begins until that is false',
  ]);
  expect(linesOf({})).toHaveLength(2);
});

test('the view shows the step that it is going to, or waits at', () => {
  const spec = { rollout: byApproval(1, '50%') };
  expect(linesOf({ spec })).toContain('on the way to step 1 of 2');
  expect(linesOf({ spec, rollout: { step: 1, stepReachedAt: '2026-01-01T00:03:00Z' } })).toContain(
    'at step 2 of 2 for 2m',
  );
  expect(linesOf({ spec, rollout: { step: 2 } })).toHaveLength(2);
});

test('the view shows the last twenty failures, and how many more there were', () => {
  const failures = Array.from({ length: 22 }, (_, index) => ({
    vm: `web-${index + 1}`,
    message: 'not ready\nin time',
    at: '2026-01-01T00:00:00Z',
  }));
  failures[21] = { ...failures[21]!, wasDown: true } as (typeof failures)[0];
  const lines = linesOf({ rollout: { failures } });
  expect(lines).toHaveLength(23);
  expect(lines[1]).toBe('web-3 failed 5m ago: not ready in time');
  expect(lines.slice(20, 22)).toEqual([
    'web-22 failed 5m ago, and was not ready before: not ready in time',
    '2 more VMs failed',
  ]);
});

test('the reason why a VM failed is reported once', () => {
  const failures = [{ vm: 'web-1', message: 'too slow', at: '2026-01-01T00:00:00Z' }];
  const message = '1 VM failed, and maxFailures allows 0; the last: web-1: too slow';
  expect(linesOf({ progressing: ['Failed', 'False', message], rollout: { failures } }).slice(1, -1)).toEqual([
    'web-1 failed 5m ago',
  ]);
});

test('the view tells once who has aborted a rollout', () => {
  const halted = { kind: 'Aborted', by: 'bob', at: '2026-01-01T00:04:00Z', reason: 'too slow' } as const;
  expect(linesOf({ progressing: ['Aborted', 'False', 'by bob: too slow'], rollout: { halted } }).slice(0, 2)).toEqual([
    'Aborted',
    'aborted by bob 60s ago: too slow',
  ]);
});

test('the view shows who asked for the revision, and why', () => {
  const asked = { requestedBy: 'ada', changeCause: 'a kernel' };
  expect(rolloutLines(rolloutView(poolWith(), [revisionWith(4, 2, asked)]), NOW).at(-1)).toBe(
    `revision 4 (${hashOf(2)}), from ${hashOf(1)}; requested by ada: a kernel`,
  );
});

const headOf = (said: UserRequest): string =>
  runLines('default/web', shownRollout(rolloutView(poolWith(said)), NOW), NOW)[0]!;

describe('the numbers of a rollout', () => {
  test('say how many VMs are updated, are to go, are ready, and are extra', () => {
    expect(headOf({ status: { replicas: 12, surgeReplicas: 2 } })).toMatch(
      /^default\/web {2}\S+ 3\/10 updated, 7 to go, 9 ready, 2 extra: RollingOut$/,
    );
    expect(headOf({ status: { readyReplicas: 0 } })).toMatch(/, 7 to go, 0 ready: RollingOut$/);
  });

  test('name no VMs to go once nothing goes on', () => {
    expect(headOf({ progressing: ['Failed', 'False'] })).toMatch(/ 3\/10 updated, 9 ready: Failed$/);
    expect(headOf({ progressing: ['ProgressDeadlineExceeded', 'False'] })).toContain('7 to go');
  });
});

describe('the end of a rollout', () => {
  test.each([
    ['RollingOut', 'True', null],
    ['WaitingForApproval', 'True', null],
    ['Undoing', 'True', null],
    ['Paused', 'False', null],
    ['Complete', 'False', 'Complete'],
    ['UpdateFailed', 'False', 'Failed'],
    ['Failed', 'False', 'Failed'],
    ['UndoFailed', 'False', 'Failed'],
    ['Undone', 'False', 'Failed'],
    ['Aborted', 'False', 'Failed'],
    ['OutdatedVms', 'False', 'OutdatedVms'],
  ] as const)('%s is %s: %s', (reason, status, end) =>
    expect(rolloutView(poolWith({ progressing: [reason, status] }))).toMatchObject({ phase: reason, end }),
  );

  test.each([
    ['the spec is newer than the status', { generation: 3 }],
    ['the status is about another template', { spec: { template: templateOf(3) } }],
    ['the status tells nothing of a rollout', { status: { conditions: [] } }],
  ] as [string, UserRequest][])('is not known if %s', (_why, said) =>
    expect(rolloutView(poolWith({ progressing: ['Complete', 'False'], ...said }))).toMatchObject({
      phase: 'Pending',
      end: null,
    }),
  );

  test('is different for a pool that is being deleted', () => {
    const pool = poolWith({ progressing: ['Complete', 'False'] });
    pool.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(rolloutView(pool)).toMatchObject({ phase: 'Deleting', end: null });
  });

  test('does not come from the rollout of an older template', () => {
    const halted = { kind: 'Failed', by: 'drover', at: '2026-01-01T00:00:00Z', reason: 'web-1' } as const;
    expect(rolloutView(poolWith({ rollout: { halted } })).halted).not.toBeNull();
    expect(rolloutView(poolWith({ rollout: { revision: hashOf(1), halted } })).halted).toBeNull();
  });
});
