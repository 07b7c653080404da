import { controllerOf } from '../../api/objects.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { needsWorkflow } from '../../decisions/operations/lifetime.ts';
import { operationKey, operationOfKey } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { ObjectChange } from '../cache/objects/cache-change.ts';
import { distinct } from './affected-pools.ts';
import type { WatchedObjects } from './watched.ts';

/** Operations that have not ended, or are to be deleted after that: each has its own workflow. */
export const watchedOperations = ({ operations }: Pick<ClusterCache, 'operations'>): WatchedObjects => {
  const isUnsettled = (key: string): boolean => {
    const operation = operations.get(operationOfKey(key));
    return operation !== undefined && needsWorkflow(operation);
  };
  return {
    what: 'operation',
    all: () => [...operations.values()].filter(needsWorkflow).map(keyOf),
    exists: isUnsettled,
    affected: (change) => (change.kind === 'operation' ? withNewSpec(change) : []),
    leastMs: () => 0,
    isUnsettled,
    versions: () => ({}),
  };
};

/** Schedules of operations: each has its own workflow as long as it exists. */
export const watchedSchedules = ({ schedules }: Pick<ClusterCache, 'schedules'>): WatchedObjects => {
  const scheduleOf = (key: string): StoredSchedule | undefined => {
    const schedule = schedules.get(key.slice(0, key.lastIndexOf('/')));
    return schedule !== undefined && keyOf(schedule) === key ? schedule : undefined;
  };
  return {
    what: 'schedule',
    all: () => [...schedules.values()].map(keyOf),
    exists: (key) => scheduleOf(key) !== undefined,
    affected: affectedSchedules,
    leastMs: () => 0,
    isUnsettled: (key) => isLate(scheduleOf(key)),
    versions: () => ({}),
  };
};

const keyOf = ({ metadata }: StoredOperation | StoredSchedule): string => operationKey(metadata);

/** What workflows write themselves, into the status, tells them nothing. */
function withNewSpec<T extends StoredOperation | StoredSchedule>(change: {
  before: T | undefined;
  after: T | undefined;
}): string[] {
  const { before, after } = change;
  const isSame = before?.metadata.uid === after?.metadata.uid;
  if (isSame && before?.metadata.generation === after?.metadata.generation) return [];
  return distinct([before, after].flatMap((object) => (object === undefined ? [] : [keyOf(object)])));
}

/** Whether the workflow of a schedule should have looked at it again by now. */
const isLate = (schedule: StoredSchedule | undefined): boolean =>
  schedule !== undefined &&
  (schedule.status?.observedGeneration !== schedule.metadata.generation ||
    Date.parse(schedule.status?.nextScheduleTime ?? '') < Date.now());

/** A schedule hears of what users change in it, and when one of its operations is made, ends or goes. */
function affectedSchedules(change: ObjectChange): string[] {
  if (change.kind === 'schedule') return withNewSpec(change);
  if (change.kind !== 'operation') return [];
  const { before, after } = change;
  if (before !== undefined && after !== undefined && hasEnded(before) === hasEnded(after)) return [];
  const operation = (after ?? before)!;
  const { kind, name, uid } = controllerOf(operation) ?? {};
  if (kind !== VirtualMachineOperationSchedules.kind) return [];
  return [operationKey({ namespace: operation.metadata.namespace, name: name!, uid: uid! })];
}

const hasEnded = ({ status }: StoredOperation): boolean => status?.completionTime !== undefined;
