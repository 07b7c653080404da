import { controllerOf } from '../../api/objects.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { operationKey } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import type { Signals, WatchedObjects } from './watched.ts';

/** Schedules of operations: each has a workflow of its own as long as it exists. */
export const watchedSchedules = ({ schedules }: Pick<ClusterCache, 'schedules'>, signals: Signals): WatchedObjects => {
  const exists = (key: string): boolean => {
    const schedule = schedules.get(key.slice(0, key.lastIndexOf('/')));
    return schedule !== undefined && keyOf(schedule) === key;
  };
  return {
    what: 'schedule',
    signals,
    all: () => [...schedules.values()].map(keyOf),
    exists,
    affected,
    leastMs: () => 0,
    isUnsettled: (key) => exists(key) && isLate(schedules.get(key.slice(0, key.lastIndexOf('/')))!),
    versions: () => ({}),
  };
};

/** Whether its workflow should have looked at it again by now. */
const isLate = ({ metadata, status }: StoredSchedule): boolean =>
  status?.observedGeneration !== metadata.generation || Date.parse(status?.nextScheduleTime ?? '') < Date.now();

const keyOf = ({ metadata }: StoredSchedule): string => operationKey(metadata);

/** A schedule hears of what users change in it, and when one of its operations is made, ends or goes. */
function affected(change: ObjectChange): string[] {
  if (change.kind === 'schedule') {
    const { before, after } = change;
    const isSame = before?.metadata.uid === after?.metadata.uid;
    if (isSame && before?.metadata.generation === after?.metadata.generation) return [];
    return [...new Set([before, after].flatMap((schedule) => (schedule === undefined ? [] : [keyOf(schedule)])))];
  }
  if (change.kind !== 'operation') return [];
  const { before, after } = change;
  if (before !== undefined && after !== undefined && hasEnded(before) === hasEnded(after)) return [];
  return scheduleOf((after ?? before)!);
}

const hasEnded = ({ status }: StoredOperation): boolean => status?.completionTime !== undefined;

function scheduleOf(operation: StoredOperation): string[] {
  const { kind, name, uid } = controllerOf(operation) ?? {};
  if (kind !== VirtualMachineOperationSchedules.kind) return [];
  return [operationKey({ namespace: operation.metadata.namespace, name: name!, uid: uid! })];
}
