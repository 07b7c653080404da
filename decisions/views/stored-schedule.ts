import type { KubeObject, StoredMeta } from '../../api/objects.ts';
import type { ScheduleSpec, ScheduleStatus } from '../../api/schedules/schedule.ts';

/** A VirtualMachineOperationSchedule as the API server has it. */
export interface StoredSchedule extends KubeObject {
  metadata: StoredMeta & { namespace: string };
  spec: ScheduleSpec;
  status?: ScheduleStatus;
}
