import { withoutManagedFields } from '../../api/objects.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { DEFAULT_TIME_ZONE } from '../../api/rules/pool-defaults.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { because } from '../../decisions/runs/report.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { DataFormat } from '../cli/data.ts';
import { ageOf, note, print, serialize, table } from '../cli/print.ts';
import { labelOf } from '../cli/targets.ts';

export type SchedulesFormat = DataFormat | 'name';

export const nameOf = ({ metadata: { namespace, name } }: StoredSchedule): string => `${namespace}/${name}`;

export const conditionOf = ({ status }: StoredSchedule, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/** How it stands, in a word: `Pending` before a worker has looked at it. */
export const stateOf = (schedule: StoredSchedule): string =>
  schedule.spec.suspend === true ? 'Suspended' : (conditionOf(schedule, 'Ready')?.reason ?? 'Pending');

/** Returns lines about one schedule. */
export function linesOf(schedule: StoredSchedule): string[] {
  const { spec, status = {} } = schedule;
  const { operationTemplate, timeZone = DEFAULT_TIME_ZONE, requestedBy = 'an unknown user' } = spec;
  const { action, reason } = operationTemplate.spec;
  const { lastMissed, lastScheduleTime, nextScheduleTime, active = [] } = status;
  const ready = conditionOf(schedule, 'Ready');
  const succeeded = conditionOf(schedule, 'Succeeded');
  return [
    `${nameOf(schedule)}: ${stateOf(schedule)}${ready?.status === 'False' ? `: ${ready.message ?? ''}` : ''}`,
    `  ${action} at ${spec.schedule} (${timeZone}); requested by ${requestedBy}${because(reason)}`,
    `  next: ${nextScheduleTime ?? 'none'}`,
    `  last: ${lastScheduleTime ?? 'none'}${succeeded === undefined ? '' : `: ${succeeded.reason}: ${succeeded.message ?? ''}`}`,
    ...(active.length === 0 ? [] : [`  in progress: ${active.join(', ')}`]),
    ...(lastMissed === undefined ? [] : [`  last missed: ${lastMissed.time}: ${lastMissed.why}`]),
  ];
}

/** Prints schedules as kubectl does: a named one as it is, and others as a list that kubectl accepts. */
export async function printData(schedules: StoredSchedule[], format: DataFormat, { isOne }: { isOne: boolean }) {
  const shown = schedules.map(withoutManagedFields);
  print(await serialize(isOne ? shown[0]! : shown, format));
}

/** Prints the schedules by name, or says that there are none. */
export async function printSchedules(schedules: StoredSchedule[], output?: SchedulesFormat): Promise<void> {
  const sorted = schedules.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
  if (output === 'json' || output === 'yaml') return printData(sorted, output, { isOne: false });
  if (output === 'name' && sorted.length === 0) return;
  if (output === 'name')
    return print(sorted.map(({ metadata }) => labelOf(VirtualMachineOperationSchedules, metadata.name)).join('\n'));
  if (sorted.length === 0) return note('there is no schedule');
  const rows = sorted.map((schedule) => {
    const { metadata, spec, status } = schedule;
    const { lastScheduleTime, nextScheduleTime = '<none>' } = status ?? {};
    return [
      metadata.namespace,
      metadata.name,
      OPERATION_LABELS[spec.operationTemplate.spec.action].verb,
      spec.schedule,
      spec.timeZone ?? DEFAULT_TIME_ZONE,
      stateOf(schedule),
      lastScheduleTime === undefined ? '<none>' : ageOf(lastScheduleTime),
      nextScheduleTime,
      conditionOf(schedule, 'Succeeded')?.reason ?? '<none>',
      spec.requestedBy ?? '<unknown>',
    ];
  });
  const headers = ['NAMESPACE', 'NAME', 'ACTION', 'SCHEDULE', 'TIME ZONE', 'STATE', 'LAST', 'NEXT', 'OUTCOME'];
  print(table([...headers, 'REQUESTED BY'], rows).join('\n'));
}
