import { controllerOf } from '../../api/objects.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { StoredSchedule } from '../views/stored-schedule.ts';

const MINUTE_MS = 60_000;

type Named = Pick<StoredSchedule, 'metadata'>;

/**
 * Returns the name of the operation for a time (in milliseconds since the epoch), as CronJobs name their jobs: a time
 * has one name, so that no operation is made for it twice.
 */
export const operationName = ({ metadata }: Named, time: number): string =>
  `${metadata.name}-${Math.floor(time / MINUTE_MS)}`;

/** Returns the time that the operation of a schedule was made for, in milliseconds since the epoch; NaN if for none. */
export const timeOf = ({ metadata }: Named, operation: Pick<StoredOperation, 'metadata'>): number =>
  Number(operation.metadata.name.slice(metadata.name.length + 1) || Number.NaN) * MINUTE_MS;

/** Reports whether this schedule, and no other of its name, has made the operation. */
export function isOf({ metadata }: Named, operation: StoredOperation): boolean {
  const { kind, uid } = controllerOf(operation) ?? {};
  return kind === VirtualMachineOperationSchedules.kind && uid === metadata.uid;
}
