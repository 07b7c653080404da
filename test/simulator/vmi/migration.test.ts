import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { isToMigrate, mostAtOnce } from '../../../simulator/controllers/workload-updates.ts';
import type { Migration } from '../../../simulator/types.ts';
import { withPlugs } from '../../../simulator/vm/hotplug.ts';
import { begun, ended, migrationStep } from '../../../simulator/vmi/migration.ts';
import { condition, aVmi, aVm, NOW } from '../simulated.ts';

const asked = (metadata = {}): Stored<Migration> => ({
  metadata: { ...aVm().metadata, name: 'm', uid: 'm-uid', ...metadata },
  spec: { vmiName: 'web-1' },
});

describe('migrations', () => {
  const running = aVmi('Running', { nodeName: 'n1' });
  const moving = begun(running, asked(), 'n2', NOW);

  test('one after the other, and only of what runs', () => {
    expect(migrationStep(running, [], NOW)).toEqual({ do: 'nothing' });
    expect(migrationStep(running, [asked()], NOW)).toEqual({ do: 'begin', migration: asked() });
    expect(migrationStep(aVmi('Pending'), [asked()], NOW)).toMatchObject({ do: 'note', phase: 'Failed' });
    expect(migrationStep(undefined, [asked()], NOW)).toMatchObject({ do: 'note', phase: 'Failed' });
    expect(migrationStep(moving, [asked(), asked({ uid: 'next' })], NOW)).toEqual({ do: 'wait', until: NOW + 1000 });
  });

  test('end on the other node, or where they began', () => {
    expect(migrationStep(moving, [asked()], NOW + 1000)).toMatchObject({ do: 'end', succeeded: true });
    expect(ended(moving, true, NOW).status).toMatchObject({
      nodeName: 'n2',
      migrationState: { sourceNode: 'n1', completed: true },
    });
    expect(migrationStep(moving, [asked({ deletionTimestamp: '2026-05-04T10:00:00Z' })], NOW)).toMatchObject({
      do: 'end',
      succeeded: false,
    });
    expect(migrationStep(moving, [], NOW)).toEqual({ do: 'end', migration: undefined, succeeded: false });
    expect(ended(moving, false, NOW).status).toMatchObject({ nodeName: 'n1', migrationState: { failed: true } });
    expect(migrationStep(ended(moving, true, NOW), [asked()], NOW)).toMatchObject({ do: 'note', phase: 'Succeeded' });
  });

  test('bring sockets and memory that were plugged in', () => {
    const vmi = withPlugs({
      ...moving,
      spec: {
        domain: { cpu: { sockets: 2, cores: 1, threads: 1, maxSockets: 4 }, memory: { guest: '4Gi', maxGuest: '8Gi' } },
      },
      status: {
        ...moving.status,
        currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
        memory: { guestAtBoot: '2Gi', guestCurrent: '2Gi', guestRequested: '2Gi' },
      },
    });
    expect(vmi.status?.conditions).toEqual(
      ['HotVCPUChange', 'HotMemoryChange'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: null,
      })),
    );
    expect(withPlugs(vmi)).toBe(vmi);
    expect(ended(vmi, false, NOW).status?.conditions).toHaveLength(2);
    expect(ended(vmi, true, NOW).status).toMatchObject({
      conditions: [],
      currentCPUTopology: { sockets: 2, cores: 1, threads: 1 },
      memory: { guestAtBoot: '2Gi', guestCurrent: '4Gi', guestRequested: '4Gi' },
    });
  });
});

test('a VMI is migrated for its plugs if it runs, can, and does not already', () => {
  const waiting = aVmi('Running', {
    conditions: [condition('HotVCPUChange', 'True'), condition('LiveMigratable', 'True')],
  });
  expect(isToMigrate(waiting)).toBe(true);
  expect(
    isToMigrate({ ...waiting, status: { ...waiting.status, conditions: [condition('HotVCPUChange', 'True')] } }),
  ).toBe(false);
  expect(
    isToMigrate({ ...waiting, metadata: { ...waiting.metadata, deletionTimestamp: '2026-05-04T10:00:00Z' } }),
  ).toBe(false);
  expect(isToMigrate(begun(waiting, asked(), 'n2', NOW))).toBe(false);
  expect(isToMigrate(aVmi('Running', { conditions: [condition('LiveMigratable', 'True')] }))).toBe(false);
  expect(mostAtOnce(undefined)).toBe(5);
});
