import { describe, expect, test } from 'vitest';
import { begun, ended, migrationStep } from '../../dev/simulator/migration.ts';
import type { Migration } from '../../dev/simulator/types.ts';
import type { Stored } from '../../kubernetes/objects.ts';
import { instance, machine, NOW } from './simulated.ts';

const asked = (metadata = {}): Stored<Migration> => ({
  metadata: { ...machine().metadata, name: 'm', uid: 'm-uid', ...metadata },
  spec: { vmiName: 'web-1' },
});

describe('migrations', () => {
  const running = instance('Running', { nodeName: 'n1' });
  const moving = begun(running, asked(), 'n2', NOW);

  test('one after the other, and only of what runs', () => {
    expect(migrationStep(running, [], NOW)).toEqual({ do: 'nothing' });
    expect(migrationStep(running, [asked()], NOW)).toEqual({ do: 'begin', migration: asked() });
    expect(migrationStep(instance('Pending'), [asked()], NOW)).toMatchObject({ do: 'note', phase: 'Failed' });
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
});
