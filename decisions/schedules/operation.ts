import { API_VERSION, SCHEDULE_LABEL } from '../../api/labels-and-annotations.ts';
import { VirtualMachineOperations, VirtualMachineOperationSchedules } from '../../api/resources.ts';
import type { StoredSchedule } from '../views/stored-schedule.ts';
import { operationName } from './names.ts';

/**
 * Returns the operation that a schedule makes for a time (in milliseconds since the epoch). It names the requester of
 * the schedule, whom the API server has checked, and is deleted with it.
 */
export function operationOf(schedule: StoredSchedule, time: number) {
  const { namespace, name, uid } = schedule.metadata;
  const { requestedBy, operationTemplate } = schedule.spec;
  const { kind } = VirtualMachineOperationSchedules;
  return {
    apiVersion: API_VERSION,
    kind: VirtualMachineOperations.kind,
    metadata: {
      namespace,
      name: operationName(schedule, time),
      labels: { [SCHEDULE_LABEL]: name },
      ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid, controller: true }],
    },
    spec: { ...operationTemplate.spec, ...(requestedBy === undefined ? {} : { requestedBy }) },
  };
}
