import { describe, expect, test } from 'vitest';
import { rolloutLines } from '../../../clients/rollout/lines.ts';
import { rolloutView } from '../../../clients/rollout/view.ts';
import { byApproval, hashOf, poolWith, revisionWith, templateOf, type UserRequest } from './pools.ts';

const NOW = Date.parse('2026-01-01T00:05:00Z');
const linesOf = (said: UserRequest): string[] =>
  rolloutLines(rolloutView(poolWith(said), [revisionWith(3, 1), revisionWith(4, 2)]), NOW);

test('a rollout in progress shows its old and new revision, by number and hash', () => {
  expect(linesOf({})).toEqual([`RollingOut: revision 4 (${hashOf(2)}), from 3 (${hashOf(1)}): so it is`]);
});

test("a revision is reported once, with its number, also in the condition's message", () => {
  const complete = `all VMs have revision ${hashOf(2)}`;
  expect(linesOf({ progressing: ['Complete', 'False', complete] })).toEqual([
    `Complete: all VMs have revision 4 (${hashOf(2)})`,
  ]);
  const under = `3 of 10 VMs updated to revision ${hashOf(2)}`;
  expect(linesOf({ progressing: ['RollingOut', 'True', under] })).toEqual([
    `RollingOut: revision 4 (${hashOf(2)}), from 3 (${hashOf(1)}): 3 of 10 VMs updated to revision 4`,
  ]);
  const back = `VMs are back at revision ${hashOf(1)}: too slow`;
  expect(linesOf({ progressing: ['Undone', 'False', back] })[0]).toMatch(/: VMs are back at revision 3: too slow$/);
});

test('a revision without a known number is reported by its hash', () => {
  expect(rolloutLines(rolloutView(poolWith()), NOW)[0]).toBe(
    `RollingOut: revision ${hashOf(2)}, from ${hashOf(1)}: so it is`,
  );
});

test('the view shows who has paused it, when and why; and the pause of the spec', () => {
  const paused = { by: 'ada@desk', at: '2026-01-01T00:04:00Z', why: 'lunch' };
  const progressing: UserRequest['progressing'] = ['Paused', 'False'];
  expect(linesOf({ progressing, rollout: { paused } })).toContain('paused by ada@desk 60s ago: lunch');
  expect(linesOf({ progressing, spec: { paused: true } })).toContain('paused by spec.paused');
  expect(linesOf({})).toHaveLength(1);
});

test('the view shows the step that it is going to, or waits at', () => {
  const spec = { rollout: byApproval(1, '50%') };
  expect(linesOf({ spec })).toContain('on the way to step 1 of 2');
  expect(linesOf({ spec, rollout: { step: 1, stepReachedAt: '2026-01-01T00:03:00Z' } })).toContain(
    'at step 2 of 2 for 2m',
  );
  expect(linesOf({ spec, rollout: { step: 2 } })).toHaveLength(1);
});

test('the view shows the last ten failures, and how many there were', () => {
  const failures = Array.from({ length: 12 }, (_, index) => ({
    vm: `web-${index + 1}`,
    why: 'not ready\nin time',
    at: '2026-01-01T00:00:00Z',
  }));
  failures[11] = { ...failures[11]!, wasDown: true } as (typeof failures)[0];
  const lines = linesOf({ rollout: { failures } });
  expect(lines).toHaveLength(12);
  expect(lines.slice(1, 3)).toEqual(['12 VMs failed; the last 10:', 'web-3 failed 5m ago: not ready in time']);
  expect(lines.at(-1)).toBe('web-12 failed 5m ago, and was not ready before: not ready in time');
});

test('the reason why a VM failed is reported once', () => {
  const failures = [{ vm: 'web-1', why: 'too slow', at: '2026-01-01T00:00:00Z' }];
  const message = '1 VM failed, and maxFailures allows 0; the last: web-1: too slow';
  expect(linesOf({ progressing: ['Failed', 'False', message], rollout: { failures } }).slice(1)).toEqual([
    'web-1 failed 5m ago',
  ]);
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
    const halted = { kind: 'Failed', by: 'drover', at: '2026-01-01T00:00:00Z', why: 'web-1' } as const;
    expect(rolloutView(poolWith({ rollout: { halted } })).halted).not.toBeNull();
    expect(rolloutView(poolWith({ rollout: { revision: hashOf(1), halted } })).halted).toBeNull();
  });
});
