import { conditionOf } from '../../api/objects.ts';
import { UNKNOWN_USER } from '../../api/requested-by.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import { DEFAULT_TIME_ZONE } from '../../api/rules/pool-defaults.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { because } from '../../decisions/runs/report.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import { ageOf, printNote, print, printObjects, table, type DataFormat, labelOf } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { readSchedule } from './read-schedules.ts';

const nameOf = ({ metadata: { namespace, name } }: StoredSchedule): string => `${namespace}/${name}`;

/** How it stands, in a word: `Pending` before a worker has looked at it. */
export const stateOf = (schedule: StoredSchedule): string =>
  schedule.spec.suspend === true ? 'Suspended' : (conditionOf(schedule.status, 'Ready')?.reason ?? 'Pending');

/** Lists schedules by name, or says that there are none. */
export const getSchedules: Work<{ allNamespaces?: boolean; output?: DataFormat | 'name' }> = async (
  session,
  { allNamespaces, output },
) => {
  const namespace = allNamespaces === true ? undefined : await session.namespace();
  const kube = await session.kube();
  const { items } = await kube.list<StoredSchedule>(VirtualMachineOperationSchedules, { namespace });
  const sorted = items.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
  if (output === 'json' || output === 'yaml') return printObjects(sorted, output, { isOne: false });
  if (output === 'name' && sorted.length === 0) return;
  if (output === 'name')
    return print(sorted.map(({ metadata }) => labelOf(VirtualMachineOperationSchedules, metadata.name)).join('\n'));
  if (sorted.length === 0) return printNote('there is no schedule');
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
      conditionOf(schedule.status, 'Succeeded')?.reason ?? '<none>',
      spec.requestedBy ?? '<unknown>',
    ];
  });
  const headers = ['NAMESPACE', 'NAME', 'ACTION', 'SCHEDULE', 'TIME ZONE', 'STATE', 'LAST', 'NEXT', 'OUTCOME'];
  print(table([...headers, 'REQUESTED BY'], rows));
};

/** Shows a schedule: its times, and how its operations ended. */
export const describeSchedule: Work<{ output?: DataFormat }> = async (session, { output }, name) => {
  const [, schedule] = await readSchedule(session, name);
  if (output !== undefined) return printObjects([schedule], output, { isOne: true });
  print(linesOf(schedule));
};

function linesOf(schedule: StoredSchedule): string[] {
  const { spec, status = {} } = schedule;
  const { operationTemplate, timeZone = DEFAULT_TIME_ZONE, requestedBy = UNKNOWN_USER } = spec;
  const { action, reason } = operationTemplate.spec;
  const { lastMissed, lastScheduleTime, nextScheduleTime, active = [] } = status;
  const ready = conditionOf(schedule.status, 'Ready');
  const succeeded = conditionOf(schedule.status, 'Succeeded');
  return [
    `${nameOf(schedule)}: ${stateOf(schedule)}${ready?.status === 'False' ? `: ${ready.message ?? ''}` : ''}`,
    `  ${action} at ${spec.schedule} (${timeZone}); requested by ${requestedBy}${because(reason)}`,
    `  next: ${nextScheduleTime ?? 'none'}`,
    `  last: ${lastScheduleTime ?? 'none'}${succeeded === undefined ? '' : `: ${succeeded.reason}: ${succeeded.message ?? ''}`}`,
    ...(active.length === 0 ? [] : [`  in progress: ${active.join(', ')}`]),
    ...(lastMissed === undefined ? [] : [`  last missed: ${lastMissed.time}: ${lastMissed.message}`]),
  ];
}
