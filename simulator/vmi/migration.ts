import type { Stored } from '../../api/objects.ts';
import { durationOf, isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import { timestamp } from '../objects/conditions.ts';
import type { Migration, MigrationPhase, Vmi } from '../objects/kubevirt.ts';
import { isDeleting, isFinal, isMigrating, NODE_LABEL, phaseOf } from '../objects/vmi.ts';
import { hotplugged } from '../vm/hotplug.ts';
import { EVICTION_SOURCE } from './eviction.ts';

/** The next step of a migration that has not ended. */
type MigrationStep =
  /** Deletes the migration: its VMI is gone. */
  | { do: 'delete' }
  | { do: 'nothing' }
  | { do: 'wait'; until: number }
  /** Takes one of the places that the cluster has for migrations. */
  | { do: 'takePlace' }
  /** Looks for a node that the VMI may migrate to, until this time at most; in milliseconds since the epoch. */
  | { do: 'findNode'; until: number }
  /** Writes to the VMI which migration moves it, and where to; or that it has begun to. */
  | { do: 'handOff' | 'start' }
  | { do: 'end'; succeeded: boolean }
  | { do: 'setPhase'; phase: MigrationPhase };

const MIGRATION_MS = 1000;
/** How long KubeVirt waits for a node that takes the target pod. */
const UNSCHEDULABLE_MS = 300_000;

export const isOver = ({ status }: Migration): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Reports whether the migration counts against the cluster's limits. */
export const isRunning = (migration: Migration): boolean =>
  !isOver(migration) && ![undefined, 'Pending'].includes(migration.status?.phase);

export function migrationStep(vmi: Vmi | undefined, migration: Stored<Migration>, now: number): MigrationStep {
  if (vmi === undefined) return { do: 'delete' };
  const state = vmi.status?.migrationState;
  const isHandedOff = state?.migrationUid === migration.metadata.uid;
  if (isHandedOff && state?.completed === true)
    return { do: 'setPhase', phase: state.failed === true ? 'Failed' : 'Succeeded' };
  if (isFinal(vmi) || isDeleting(vmi) || isDeleting(migration))
    return isHandedOff ? { do: 'end', succeeded: false } : { do: 'setPhase', phase: 'Failed' };
  return nextPhase(vmi, migration, isHandedOff, now);
}

function nextPhase(
  vmi: Vmi,
  { metadata, status }: Stored<Migration>,
  isHandedOff: boolean,
  now: number,
): MigrationStep {
  switch (status?.phase) {
    case undefined:
      return { do: 'setPhase', phase: 'Pending' };
    case 'Pending':
      return { do: phaseOf(vmi) === 'Running' ? 'takePlace' : 'nothing' };
    case 'Scheduling':
      return { do: 'findNode', until: Date.parse(metadata.creationTimestamp) + UNSCHEDULABLE_MS };
    case 'Scheduled':
      return isHandedOff ? { do: 'setPhase', phase: 'PreparingTarget' } : { do: 'handOff' };
    case 'PreparingTarget':
      return { do: 'setPhase', phase: 'TargetReady' };
    case 'TargetReady':
      return isMigrating(vmi) ? { do: 'setPhase', phase: 'Running' } : { do: 'start' };
    case 'Running':
      return progress(vmi, now);
    case 'Succeeded':
    case 'Failed':
      return { do: 'nothing' };
  }
}

function progress({ metadata, status }: Vmi, now: number): MigrationStep {
  const began = Date.parse(status?.migrationState?.startTimestamp ?? timestamp(now));
  const until = began + (durationOf(metadata, SimulatorAnnotation.migrationTime) ?? MIGRATION_MS);
  return until > now
    ? { do: 'wait', until }
    : { do: 'end', succeeded: !isOn(metadata, SimulatorAnnotation.migrationFails) };
}

export function handedOff(vmi: Vmi, migration: Stored<Migration>, targetNode: string): Vmi {
  const sourceNode = vmi.status?.nodeName;
  const migrationState = {
    migrationUid: migration.metadata.uid,
    ...(sourceNode === undefined ? {} : { sourceNode }),
    targetNode,
    mode: 'PreCopy',
  };
  return { ...vmi, status: { ...vmi.status, migrationState } };
}

export const started = (vmi: Vmi, now: number): Vmi => ({
  ...vmi,
  status: { ...vmi.status, migrationState: { ...vmi.status?.migrationState, startTimestamp: timestamp(now) } },
});

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
  const { [EVICTION_SOURCE]: _source, ...annotations } = metadata.annotations ?? {};
  const { evacuationNodeName: _evacuated, ...rest } = status ?? {};
  return hotplugged({
    ...vmi,
    metadata: { ...metadata, labels, annotations },
    status: { ...rest, migrationState, nodeName: target },
  });
}

/** `vmi`: the migrated VMI, which shows how that went. */
export function inPhase(
  migration: Stored<Migration>,
  phase: MigrationPhase,
  now: number,
  vmi?: Vmi,
): Stored<Migration> {
  const passed = migration.status?.phaseTransitionTimestamps ?? [];
  const transitions = [...passed, { phase, phaseTransitionTimestamp: timestamp(now) }];
  const state = vmi?.status?.migrationState;
  const isOfThis = state?.completed === true && state.migrationUid === migration.metadata.uid;
  const recorded = isOfThis ? { migrationState: state } : {};
  return { ...migration, status: { ...migration.status, phase, phaseTransitionTimestamps: transitions, ...recorded } };
}
