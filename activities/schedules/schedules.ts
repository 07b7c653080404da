import { CHANGE_CAUSE_ANNOTATION, SCHEDULE_LABEL } from '../../api/labels-and-annotations.ts';
import { VirtualMachineOperations, VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { scheduleEvents } from '../../decisions/schedules/events.ts';
import { isOf } from '../../decisions/schedules/names.ts';
import { operationOf } from '../../decisions/schedules/operation.ts';
import { planSchedule } from '../../decisions/schedules/plan.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale, isAlreadyExists, isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordOperationEvent } from '../lib/events.ts';
import { liveObject } from '../operations/live-operation.ts';
import { replaceStatus } from '../operations/write-status.ts';

/** What a look at a schedule has come to. */
export type Looked =
  /** The schedule does not exist: it was deleted, or never existed. */
  | { is: 'missing' }
  /**
   * `waitMs`: when to look again if nothing happens; null if there is nothing to wait for. `ranUntil`: the last time
   * for which an operation was made, in milliseconds since the epoch; null if there was none.
   */
  | { is: 'known'; waitMs: number | null; ranUntil: number | null };

/** How long a refused operation waits for the next try, in milliseconds. */
const REFUSED_MS = 30_000;

interface ScheduleActivityOptions {
  client: KubeClient;
  cache: Pick<ClusterCache, 'isDelegated'>;
}

export function createScheduleActivities(options: ScheduleActivityOptions) {
  return {
    /**
     * Makes the operation that is due by a schedule, if one is, and tells in its status how it stands. Safe to run
     * again at any point: a time has one name, and so one operation.
     */
    lookAtSchedule: (ref: OperationRef, ranUntil: number | null): Promise<Looked> =>
      retryOnConflict(() => look(options, ref, ranUntil)),
  };
}

export type ScheduleActivities = ReturnType<typeof createScheduleActivities>;

async function look(
  { client, cache }: ScheduleActivityOptions,
  ref: OperationRef,
  ranUntil: number | null,
): Promise<Looked> {
  const schedule = await liveObject<StoredSchedule>(client, VirtualMachineOperationSchedules, ref);
  if (schedule?.metadata.deletionTimestamp !== undefined) return { is: 'missing' };
  if (schedule === undefined || cache.isDelegated(schedule.metadata.namespace)) return { is: 'missing' };
  const operations = await operationsOf(client, schedule);
  const known = { schedule, ranUntil, now: client.clock.now() };
  let plan = planSchedule({ ...known, operations, refusal: null });
  if (plan.run !== null) {
    const made = await make(client, schedule, plan.run);
    plan = planSchedule(
      isRefused(made)
        ? { ...known, operations, refusal: made.refused }
        : { ...known, operations: [...operations, made], refusal: null },
    );
  }
  for (const operation of plan.abort) await abort(client, operation);
  // Before the status, by which the next look knows that they have been recorded.
  for (const event of scheduleEvents(schedule.status, plan.status))
    await recordOperationEvent(
      client,
      VirtualMachineOperationSchedules,
      schedule.metadata,
      event,
      `${schedule.metadata.uid}/${event.note}`,
    );
  if (canonical(plan.status) !== canonical(schedule.status))
    await replaceStatus(client, VirtualMachineOperationSchedules, schedule, plan.status);
  for (const { metadata } of plan.surplus) {
    const { uid, resourceVersion } = metadata;
    await ignoreStale(client.delete(VirtualMachineOperations, metadata, { uid, resourceVersion }));
  }
  const triesAgain = plan.status.conditions?.some(({ reason }) => reason === 'OperationRefused') === true;
  const waits = [
    ...(plan.lookAt === null ? [] : [Math.max(plan.lookAt - client.clock.now(), 0)]),
    ...(triesAgain ? [REFUSED_MS] : []),
  ];
  return { is: 'known', waitMs: waits.length === 0 ? null : Math.min(...waits), ranUntil: plan.last };
}

/** Why the API server does not take an operation. */
interface Refused {
  refused: string;
}
const isRefused = (made: StoredOperation | Refused): made is Refused => !('metadata' in made);

/** Read from the API server: a cache might not show the one before yet. */
async function operationsOf(client: KubeClient, schedule: StoredSchedule): Promise<StoredOperation[]> {
  const { namespace, name } = schedule.metadata;
  const labelSelector = `${SCHEDULE_LABEL}=${name}`;
  const { items } = await client.list<StoredOperation>(VirtualMachineOperations, { namespace, labelSelector });
  return items.filter((operation) => isOf(schedule, operation));
}

/** Returns the operation for this time, made now or before, or why the API server refuses it. */
async function make(client: KubeClient, schedule: StoredSchedule, time: number): Promise<StoredOperation | Refused> {
  const operation = operationOf(schedule, time);
  try {
    return await client.create<StoredOperation>(VirtualMachineOperations, operation);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (!isAlreadyExists(error)) return { refused: error.message };
  }
  const there = await ignoreNotFound(client.get<StoredOperation>(VirtualMachineOperations, operation.metadata));
  if (there !== undefined && isOf(schedule, there)) return there;
  return { refused: `there is an operation ${operation.metadata.name} already, which is not this schedule's` };
}

async function abort(client: KubeClient, { metadata }: StoredOperation): Promise<void> {
  const { uid } = metadata;
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: 'its schedule replaces it with the next one' };
  const patch = { metadata: { uid, annotations }, spec: { aborted: true } };
  await ignoreStale(client.patch(VirtualMachineOperations, metadata, 'merge', patch));
}
