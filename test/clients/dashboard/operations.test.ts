import { describe, expect, test } from 'vitest';
import type { OperationSpec, OperationStatus } from '../../../api/operations/operation.ts';
import type { OperationCard } from '../../../clients/dashboard/contract/fleet.ts';
import { Fleet } from '../../../clients/dashboard/fleet/fleet.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { Viewer } from './viewer.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');

const operation = (spec: Partial<OperationSpec>, status?: OperationStatus): StoredOperation => ({
  metadata: {
    namespace: 'shop',
    name: 'restart-1',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { action: 'Restart', vms: {}, ...spec },
  ...(status === undefined ? {} : { status }),
});

function seen(one: StoredOperation): { card: OperationCard; needs: Viewer['needs']['items'] } {
  const fleet = new Fleet({ whyNot: () => null, now: () => NOW });
  fleet.setOperation('shop/restart-1', one);
  const viewer = new Viewer().delta(fleet.collect());
  return { card: viewer.items.get('vmop/shop/restart-1') as OperationCard, needs: viewer.needs.items };
}

const over = (reason: string, completionTime: string): OperationStatus => ({
  completionTime,
  conditions: [
    { type: 'Progressing', status: 'False', reason, message: 'because' },
    { type: 'Failed', status: 'True', reason, message: 'because' },
  ],
});

describe('an operation', () => {
  test('is shown with its progress, and what it leaves alone by the reason', () => {
    const { card, needs } = seen(
      operation(
        { reason: 'patches' },
        {
          vms: { chosen: 9, done: 3, failed: 0, inProgress: 2, open: 1, excluded: 3 },
          waits: [{ message: 'their owners opted out', vms: 3, names: ['db-1'], excluded: true }],
          conditions: [{ type: 'Progressing', status: 'True', reason: 'Restarting' }],
        },
      ),
    );
    expect(card).toMatchObject({
      action: 'Restart',
      requestedBy: 'an unknown user',
      state: 'Restarting',
      tone: 'busy',
      reason: 'patches',
      chosen: 9,
      done: 3,
      skips: [{ message: 'their owners opted out', count: 3, names: ['db-1'], isExcluded: true }],
    });
    expect(card.actions.map(({ name, whyNot }) => [name, whyNot])).toEqual([
      ['operation.pause', null],
      ['operation.resume', 'it is not paused'],
      ['operation.abort', null],
    ]);
    expect(needs).toEqual([]);
  });

  test('names the cluster-wide budgets that it waits for', () => {
    const fleet = new Fleet({ whyNot: () => null, now: () => NOW });
    const waits = [{ message: 'a cluster-wide disruption budget has no room' }];
    fleet.setOperation('shop/restart-1', operation({}, { waits }));
    const budget = aBudget();
    const { namespace: _, ...metadata } = budget.metadata;
    const times = { since: '2026-01-01T00:00:00Z', seenAt: '2026-01-01T00:00:00Z' };
    const waiting = [{ by: 'operation/c/shop/restart-1/u', reason: 'Restart', vms: 1, ...times } as const];
    fleet.setBudget('db', { ...budget, metadata, status: { waiting } });
    fleet.tick();
    const { items } = new Viewer().delta(fleet.collect());
    expect(items.get('vmop/shop/restart-1')).toMatchObject({
      skips: [{ message: 'cluster-wide disruption budget db has no room' }],
    });
  });

  test('needs a user while it is paused, and for a day after it has failed', () => {
    expect(seen(operation({ paused: true })).needs).toMatchObject([
      {
        kind: 'operation-paused',
        action: { name: 'operation.resume' },
        command: 'drover operations resume restart-1 -n shop',
      },
    ]);
    expect(seen(operation({}, over('VmsFailed', '2026-01-01T12:00:00Z'))).needs).toMatchObject([
      { kind: 'operation.failed', sentence: 'operation restart-1 has ended, and not all is done: because' },
    ]);
    expect(seen(operation({}, over('VmsFailed', '2025-12-31T23:00:00Z'))).needs).toEqual([]);
    expect(seen(operation({}, over('Aborted', '2026-01-01T12:00:00Z'))).needs).toEqual([]);
  });

  test('says how many of its VMs are done where it needs a user', () => {
    const vms = { chosen: 9, done: 3, failed: 1, inProgress: 0, open: 2, excluded: 3 };
    const [need] = seen(operation({ paused: true }, { vms })).needs;
    expect(need!.done).toBe('3/9 restarted, 2 to go, 1 failed');
    expect(seen(operation({ paused: true })).needs[0]!.done).toBe('');
  });

  test('can no longer be steered once it is over', () => {
    const { card } = seen(operation({}, over('Complete', '2026-01-01T12:00:00Z')));
    expect(card).toMatchObject({ isOver: true, tone: 'good' });
    expect(new Set(card.actions.map(({ whyNot }) => whyNot))).toEqual(
      new Set(['operation shop/restart-1 has already ended']),
    );
  });
});

const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

function shown(status: StoredBudget['status'], minutes = 0) {
  const fleet = new Fleet({ whyNot: () => null, now: () => NOW + minutes * 60_000 });
  const budget = aBudget({ minAvailable: 2 });
  fleet.setBudget('shop/db', {
    ...budget,
    metadata: { ...budget.metadata, creationTimestamp: at(0) },
    ...(status === undefined ? {} : { status }),
  });
  fleet.tick();
  const viewer = new Viewer().delta(fleet.collect());
  return { fleet, viewer, card: viewer.items.get('vmdb/shop/db'), needs: viewer.needs.items };
}

describe('a disruption budget', () => {
  const READY = { type: 'Ready', status: 'True', reason: 'Held' } as const;

  test('is shown with its room, what takes it and what waits, as the command tells it', () => {
    const claims = [{ vm: 'db-1', namespace: 'shop', by: 'pool/c/shop/db', at: at(-1), reason: 'Rollout' } as const];
    const counts = { expected: 3, available: 2, disruptionsAllowed: 0, fullSince: at(-2) };
    const { fleet, viewer, card, needs } = shown({ ...counts, claims, conditions: [READY] });
    expect(card).toMatchObject({
      state: 'Full',
      tone: 'warn',
      numbers: '2 of 3 VMs available, 0 more may go down',
      lines: [
        'VMs: app=db, in shop',
        'limits: minAvailable 2',
        'shop/db-1 may go down: Rollout, by pool shop/db, claimed 60s ago, until it is back',
      ],
    });
    expect(needs).toEqual([]);
    fleet.setBudget('shop/db', undefined);
    expect(viewer.delta(fleet.collect()).items.size).toBe(0);
  });

  test('needs a person if it has had no room for an hour, if it never will, and if no worker counts it', () => {
    const full = { expected: 3, available: 2, disruptionsAllowed: 0, fullSince: at(0), conditions: [READY] };
    expect(shown(full, 59).needs).toEqual([]);
    expect(shown(full, 60).needs).toMatchObject([{ kind: 'late', since: at(0), command: 'drover budgets db -n shop' }]);
    const why = { reason: 'NeverRoom', message: '3 of 3 VMs must be available' } as const;
    const stalled = { type: 'Stalled', status: 'True', ...why, lastTransitionTime: at(0) } as const;
    expect(shown({ ...full, conditions: [READY, stalled] }, 90).needs).toMatchObject([
      { sentence: 'disruption budget db needs to be changed: 3 of 3 VMs must be available', since: at(0) },
    ]);
    expect(shown(undefined, 0.4).needs).toEqual([]);
    expect(shown(undefined, 0.5).needs).toMatchObject([{ kind: 'no-worker' }]);
  });
});
