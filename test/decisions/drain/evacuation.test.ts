import { describe, expect, test } from 'vitest';
import { attemptOf, evacuationOf, isEvacuating, migrationName } from '../../../decisions/drain/evacuation.ts';
import { migrationView } from '../../../decisions/views/from-object/migration.ts';
import type { MigrationView } from '../../../decisions/views/migration.ts';

const UID = '3f0c2d6e-0000-4000-8000-000000000001';

const migration = (attempt: number, state: MigrationView['state'], fields = {}): MigrationView => ({
  namespace: 'shop',
  name: migrationName(UID, attempt),
  resourceVersion: '1',
  pool: 'web',
  vmiUid: UID,
  attempt,
  state,
  createdAt: attempt * 1000,
  endedAt: state === 'Unfinished' ? null : attempt * 1000 + 500,
  whyFailed: null,
  ...fields,
});

test('a migration is named by its VMI and the attempt', () => {
  expect(attemptOf(UID, migrationName(UID, 12))).toBe(12);
  for (const name of ['drain-x-1', migrationName(UID, 0), `${migrationName(UID, 1)}x`, `drain-${UID}-1.5`])
    expect(attemptOf(UID, name)).toBeNull();
});

describe('the migrations of a VMI', () => {
  test('are summed up since it last moved, in whatever order they are read', () => {
    const all = [
      migration(1, 'Failed'),
      migration(2, 'Succeeded'),
      migration(3, 'Failed', { whyFailed: 'no node' }),
      migration(4, 'Unfinished'),
    ];
    const sum = {
      attempt: 4,
      state: 'Unfinished',
      failures: 1,
      since: 3000,
      endedAt: null,
      whyFailed: 'no node',
    };
    expect(evacuationOf(all)).toEqual(sum);
    expect(evacuationOf(all.toReversed())).toEqual(sum);
    expect(evacuationOf(all.slice(0, 2))).toMatchObject({ attempt: 2, state: 'Succeeded', endedAt: 2500 });
    expect(evacuationOf([])).toBeNull();
  });

  test('move it while the newest is unfinished', () => {
    expect(isEvacuating({ evacuation: evacuationOf([migration(1, 'Unfinished')]) })).toBe(true);
    expect(isEvacuating({ evacuation: evacuationOf([migration(1, 'Failed')]) })).toBe(false);
    expect(isEvacuating({ evacuation: null })).toBe(false);
    expect(isEvacuating(undefined)).toBe(false);
  });
});

test('a migration is read from its object', () => {
  const object = {
    metadata: {
      name: migrationName(UID, 2),
      namespace: 'shop',
      uid: 'm',
      resourceVersion: '7',
      creationTimestamp: '1970-01-01T00:00:02Z',
      labels: { 'drover.dev/pool': 'web', 'drover.dev/evacuation': UID },
    },
    spec: { vmiName: 'web-1' },
    status: {
      phase: 'Failed',
      phaseTransitionTimestamps: [{ phase: 'Failed', phaseTransitionTimestamp: '1970-01-01T00:00:03Z' }],
      migrationState: { failureReason: 'no node' },
    },
  };
  expect(migrationView(object)).toEqual(
    migration(2, 'Failed', { resourceVersion: '7', endedAt: 3000, whyFailed: 'no node' }),
  );
  expect(migrationView({ ...object, status: { phase: 'Running' } })).toMatchObject({
    state: 'Unfinished',
    endedAt: null,
  });
  const named = { ...object, metadata: { ...object.metadata, name: 'of-a-person' } };
  expect(migrationView(named)).toBeNull();
});
