import type { Stored } from '../../api/objects.ts';
import { durationOf, isOn, SimulatorAnnotation } from '../annotations.ts';
import { timestamp } from '../store/conditions.ts';
import type { Migration, MigrationPhase, VirtualMachineInstance } from '../types.ts';
import { plugged } from '../vm/hotplug.ts';
import { isDeleting, isMigrating, NODE_LABEL, phaseOf } from './vmi.ts';

type Vmi = Stored<VirtualMachineInstance>;

/** The next step in migrating a VMI. */
export type MigrationStep =
  | { do: 'nothing' }
  | { do: 'begin'; migration: Stored<Migration> }
  | { do: 'wait'; until: number }
  /** Ends the migration in progress; `migration` is undefined if the object was deleted. */
  | { do: 'end'; migration: Stored<Migration> | undefined; succeeded: boolean }
  /** Records the result of a migration that has already ended or couldn't begin. */
  | { do: 'note'; migration: Stored<Migration>; phase: MigrationPhase };

const MIGRATION_MS = 1000;

export const isOver = ({ status }: Migration): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** `migrations`: those of the VMI that are not over, oldest first. */
export function migrationStep(
  vmi: Vmi | undefined,
  migrations: readonly Stored<Migration>[],
  now: number,
): MigrationStep {
  const state = vmi?.status?.migrationState;
  if (vmi !== undefined && state !== undefined && isMigrating(vmi)) {
    const migration = migrations.find(({ metadata }) => metadata.uid === state.migrationUid);
    const possible = phaseOf(vmi) === 'Running' && !isDeleting(vmi);
    if (migration === undefined || isDeleting(migration) || !possible)
      return { do: 'end', migration, succeeded: false };
    const until =
      Date.parse(state.startTimestamp ?? timestamp(now)) +
      (durationOf(vmi.metadata, SimulatorAnnotation.migrationTime) ?? MIGRATION_MS);
    const succeeded = !isOn(vmi.metadata, SimulatorAnnotation.migrationFails);
    return until > now ? { do: 'wait', until } : { do: 'end', migration, succeeded };
  }
  const [migration] = migrations;
  if (migration === undefined) return { do: 'nothing' };
  if (state?.migrationUid === migration.metadata.uid)
    return { do: 'note', migration, phase: state.failed === true ? 'Failed' : 'Succeeded' };
  if (vmi === undefined || phaseOf(vmi) !== 'Running' || isDeleting(vmi))
    return { do: 'note', migration, phase: 'Failed' };
  return { do: 'begin', migration };
}

export function begun(vmi: Vmi, migration: Stored<Migration>, targetNode: string, now: number): Vmi {
  const sourceNode = vmi.status?.nodeName;
  const migrationState = {
    migrationUid: migration.metadata.uid,
    ...(sourceNode === undefined ? {} : { sourceNode }),
    targetNode,
    startTimestamp: timestamp(now),
    mode: 'PreCopy',
  };
  return { ...vmi, status: { ...vmi.status, migrationState } };
}

export function ended(vmi: Vmi, succeeded: boolean, now: number): Vmi {
  const { metadata, status } = vmi;
  const migrationState = {
    ...status?.migrationState,
    endTimestamp: timestamp(now),
    completed: true,
    ...(succeeded ? {} : { failed: true, failureReason: 'the migration was ended' }),
  };
  const target = migrationState.targetNode;
  if (!succeeded || target === undefined) return { ...vmi, status: { ...status, migrationState } };
  const labels = { ...metadata.labels, [NODE_LABEL]: target };
  const { evacuationNodeName: _evacuated, ...left } = status ?? {};
  return plugged({
    ...vmi,
    metadata: { ...metadata, labels },
    status: { ...left, migrationState, nodeName: target },
  });
}

/** `vmi`: the migrated one, if it tells how the migration went. */
export function inPhase(
  migration: Stored<Migration>,
  phase: MigrationPhase,
  now: number,
  vmi?: Vmi,
): Stored<Migration> {
  const passed = migration.status?.phaseTransitionTimestamps ?? [];
  const transitions = [...passed, { phase, phaseTransitionTimestamp: timestamp(now) }];
  const state = vmi?.status?.migrationState;
  const recorded = state?.migrationUid === migration.metadata.uid ? { migrationState: state } : {};
  return { ...migration, status: { ...migration.status, phase, phaseTransitionTimestamps: transitions, ...recorded } };
}
