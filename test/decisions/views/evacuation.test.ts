import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { triesInARow } from '../../../decisions/drain/need.ts';
import {
  earlierMigrationsText,
  migrationView,
  type VirtualMachineInstanceMigration,
} from '../../../decisions/from-object/migration.ts';
import { attemptOf, evacuationOf, isEvacuating, migrationName } from '../../../decisions/views/evacuation.ts';
import type { MigrationView } from '../../../decisions/views/migration.ts';

const UID = '3f0c2d6e-0000-4000-8000-000000000001';

const migration = (attempt: number, state: MigrationView['state'], fields = {}): MigrationView => ({
  namespace: 'shop',
  name: migrationName('drain', UID, attempt),
  resourceVersion: '1',
  pool: 'web',
  vmiUid: UID,
  attempt,
  state,
  createdAt: attempt * 1000,
  begunAt: attempt * 1000 + 100,
  endedAt: state === 'Unfinished' ? null : attempt * 1000 + 500,
  failedToMove: state === 'Failed',
  whyFailed: null,
  earlier: { ended: 0, failures: 0, since: null },
  ...fields,
});

test('a migration is named by its VMI and the attempt', () => {
  expect(attemptOf(UID, migrationName('drain', UID, 12))).toBe(12);
  expect(attemptOf(UID, migrationName('update', UID, 3))).toBe(3);
  for (const name of [
    'drain-x-1',
    migrationName('drain', UID, 0),
    `${migrationName('drain', UID, 1)}x`,
    `drain-${UID}-1.5`,
    `move-${UID}-1`,
  ])
    expect(attemptOf(UID, name)).toBeNull();
});

describe('the migrations of a VMI', () => {
  test('are summed up by the newest, in whatever order they are read', () => {
    const earlier = { ended: 4, failures: 2, since: 500 };
    const all = [
      migration(5, 'Failed', { earlier: { ended: 3, failures: 1, since: 500 } }),
      migration(6, 'Failed', { earlier, whyFailed: 'no node' }),
    ];
    const sum = {
      attempt: 6,
      state: 'Failed',
      ended: 5,
      failures: 3,
      since: 500,
      begunAt: 6100,
      endedAt: 6500,
      whyFailed: 'no node',
    };
    expect(evacuationOf(all)).toEqual(sum);
    expect(evacuationOf(all.toReversed())).toEqual(sum);
    expect(evacuationOf([migration(6, 'Unfinished', { earlier })])).toMatchObject({
      ended: 4,
      failures: 2,
      since: 500,
    });
    expect(evacuationOf([migration(1, 'Unfinished')])).toMatchObject({ ended: 0, failures: 0, since: 1100 });
    expect(evacuationOf([])).toBeNull();
  });

  test('move it while the newest is unfinished', () => {
    expect(isEvacuating({ evacuation: evacuationOf([migration(1, 'Unfinished')]) })).toBe(true);
    expect(isEvacuating({ evacuation: evacuationOf([migration(1, 'Failed')]) })).toBe(false);
    expect(isEvacuating({ evacuation: null })).toBe(false);
    expect(isEvacuating(undefined)).toBe(false);
  });
});

const at = (phase: string, second: number) => ({ phase, phaseTransitionTimestamp: `1970-01-01T00:00:0${second}Z` });

describe('a migration', () => {
  const object = {
    metadata: {
      name: migrationName('drain', UID, 2),
      namespace: 'shop',
      uid: 'm',
      resourceVersion: '7',
      creationTimestamp: '1970-01-01T00:00:02Z',
      labels: { 'drover.dev/pool': 'web', 'drover.dev/evacuation': UID },
      annotations: {},
    },
    spec: { vmiName: 'web-1' },
    status: {
      phase: 'Failed',
      phaseTransitionTimestamps: [at('Pending', 2), at('Scheduling', 3), at('TargetReady', 4), at('Failed', 5)],
      migrationState: { failureReason: 'no node' },
    },
  };
  const ofStatus = (status: VirtualMachineInstanceMigration['status']) => migrationView({ ...object, status: status! });
  const annotated = (text: string) =>
    migrationView({
      ...object,
      metadata: { ...object.metadata, annotations: { 'drover.dev/earlier-migrations': text } },
    })!.earlier;

  test('is read from its object', () => {
    const whyFailed = 'no node';
    expect(migrationView(object)).toEqual(
      migration(2, 'Failed', { resourceVersion: '7', begunAt: 3000, endedAt: 5000, whyFailed }),
    );
    expect(ofStatus({ phase: 'Running' })).toMatchObject({ state: 'Unfinished', begunAt: 2000, endedAt: null });
    const named = { ...object, metadata: { ...object.metadata, name: 'of-a-person' } };
    expect(migrationView(named)).toBeNull();
  });

  test('has failed to move its VMI only if its target was ready and nobody aborted it', () => {
    expect(migrationView(object)!.failedToMove).toBe(true);
    const noRoom = [at('Pending', 2), at('Scheduling', 3), at('Failed', 4)];
    expect(ofStatus({ phase: 'Failed', phaseTransitionTimestamps: noRoom })!.failedToMove).toBe(false);
    const deletionTimestamp = '1970-01-01T00:00:05Z';
    const aborted = { ...object, metadata: { ...object.metadata, deletionTimestamp } };
    expect(migrationView(aborted)!.failedToMove).toBe(false);
    expect(ofStatus({ ...object.status, phase: 'Running' })!.failedToMove).toBe(false);
  });

  test('has not begun while KubeVirt has others to do first', () => {
    const conditions = [{ type: 'migrationRejectedByResourceQuota', status: 'True' }];
    expect(ofStatus({})!.begunAt).toBeNull();
    expect(ofStatus({ phase: 'Pending', phaseTransitionTimestamps: [at('Pending', 2)] })!.begunAt).toBeNull();
    expect(ofStatus({ phase: 'Pending', conditions })!.begunAt).toBe(2000);
  });

  test('records how those before it ended, whatever anyone writes there', () => {
    const earlier = { ended: 2, failures: 1, since: 500 };
    expect(annotated(earlierMigrationsText(earlier))).toEqual(earlier);
    expect(annotated(earlierMigrationsText({ ...earlier, since: null }))).toEqual({ ...earlier, since: null });
    for (const text of ['', 'x', 'null', '[]', '{"ended":-1,"failures":0}', '{"ended":"9","failures":9}'])
      expect(annotated(text)).toEqual({ ended: 0, failures: 0, since: null });
  });
});

describe('the record that a migration carries', () => {
  const uses = fc.constantFrom('moves', 'fails', 'has no room', 'is aborted');

  test('includes all migrations in a row, though KubeVirt keeps only the newest', () => {
    fc.assert(
      fc.property(fc.array(uses, { maxLength: 20 }), (ends) => {
        let kept: MigrationView[] = [];
        for (const [index, end] of ends.entries()) {
          const tried = triesInARow({ evacuation: evacuationOf(kept) }, index * 1000);
          const { ended, failures, since } = tried ?? { ended: 0, failures: 0, since: null };
          const newest = migration(index + 1, end === 'moves' ? 'Succeeded' : 'Failed', {
            failedToMove: end === 'fails',
            earlier: { ended, failures, since },
          });
          kept = [newest];
        }
        const row = ends.slice(ends.lastIndexOf('moves') + 1);
        const tried = triesInARow({ evacuation: evacuationOf(kept) }, ends.length * 1000);
        expect({ ended: tried?.ended ?? 0, failures: tried?.failures ?? 0, since: tried?.since ?? null }).toEqual({
          ended: row.length,
          failures: row.filter((end) => end === 'fails').length,
          since: row.length === 0 ? null : (ends.lastIndexOf('moves') + 2) * 1000 + 100,
        });
      }),
    );
  });
});
