import { rfc3339 } from '../lib/time.ts';
import { isEvacuating } from '../views/evacuation.ts';
import type { Operation, OperationKind } from '../views/operation.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { whyMigrating } from './migration.ts';
import { USUAL_MS } from './overdue.ts';
import { isPausedByPerson } from './pause.ts';

/** A reason why a VM must not be disrupted now: neither stopped, restarted, replaced nor changed. */
export interface Reason {
  kind: OperationKind | 'OptedOut' | 'Receives' | 'Paused' | 'Evacuates' | 'Migrates';
  /** A sentence that begins with a small letter, such as `it migrates`. */
  message: string;
  /** It has lasted longer than its kind usually does, and may never end. */
  isOverdue?: true;
}

/** Reasons that only a user takes away. */
const LASTING: ReadonlySet<Reason['kind']> = new Set(['OptedOut', 'ManualRecovery']);

/** Whether it may hold the VM forever. */
export const isLasting = ({ kind, isOverdue }: Reason): boolean => LASTING.has(kind) || isOverdue === true;

export const whyOptedOut = ({ optedOutUntil }: Pick<VmView, 'optedOutUntil'>): string =>
  `its owner opted out of disruption${optedOutUntil === null ? '' : ` until ${rfc3339(optedOutUntil)}`}`;

/**
 * Returns the first reason why the VM must not be disrupted now; null if there is none. All that disrupts VMs by
 * drover's choice asks this, and nothing else. `vmi`: its VMI that has not ended, with what the cache knows of it.
 */
export const whyNotNow = (vm: VmView, vmi: VmiView | undefined): Reason | null => reasonsOf(vm, vmi)[0] ?? null;

/**
 * Operations on a VMI, which a VM that was stopped meanwhile names until it runs again: KubeVirt continues with them
 * only then (`memorydump.HandleRequest`, `handleVolumeRequests`).
 */
const WITH_VMI: ReadonlySet<OperationKind> = new Set(['MemoryDump', 'Hotplug']);

/** Returns all reasons, those first that last. */
export function reasonsOf(vm: VmView, vmi: VmiView | undefined): Reason[] {
  const ofVm = vm.hasVmi || vmi !== undefined ? vm.operations : vm.operations.filter(({ kind }) => !WITH_VMI.has(kind));
  const operations = vmi === undefined ? ofVm : [...ofVm, ...vmi.operations];
  return [
    ...(vm.optedOut ? [{ kind: 'OptedOut' as const, message: whyOptedOut(vm) }] : []),
    ...operations.map(ofOperation),
    ...(vm.runStrategy === 'WaitAsReceiver' ? [{ kind: 'Receives' as const, message: 'it receives a migration' }] : []),
    ...(isPausedByPerson(vm, vmi) ? [{ kind: 'Paused' as const, message: 'it is paused by a user' }] : []),
    ...(isEvacuating(vmi) ? [{ kind: 'Evacuates' as const, message: 'it is being moved' }] : []),
    ...(vmi?.migration != null ? [{ kind: 'Migrates' as const, message: whyMigrating(vmi.migration) }] : []),
  ];
}

function ofOperation(operation: Operation): Reason {
  const { kind, since, isOverdue } = operation;
  const message = MESSAGES[kind](objectText(operation));
  if (isOverdue === undefined || USUAL_MS[kind] === 0) return { kind, message };
  return { kind, message: `${message}, since ${rfc3339(since!)}, which is longer than usual`, isOverdue };
}

const objectText = ({ object }: Operation): string => (object === null ? '' : ` (${object})`);

const MESSAGES: Record<OperationKind, (name: string) => string> = {
  Snapshot: (name) => `a snapshot of it${name} is taken`,
  Restore: (name) => `a snapshot is restored to it${name}`,
  Backup: (name) => `a backup of it${name} runs`,
  MemoryDump: () => 'its memory is dumped',
  Freeze: () => 'its file systems are frozen',
  VolumeMigration: () => 'its volumes are migrated',
  ManualRecovery: () =>
    'it needs manual recovery (ManualRecoveryRequired): its VMI ended while its volumes were migrated, and its spec must name its old volumes again',
  Hotplug: (name) => `its disks are being plugged in or unplugged${name}`,
};
