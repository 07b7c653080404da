import { conditionOf } from '../../../api/objects.ts';
import { UNKNOWN_USER } from '../../../api/requested-by.ts';
import { DEFAULT_TIME_ZONE } from '../../../api/rules/pool-defaults.ts';
import type { ScheduleStatus } from '../../../api/schedules/schedule.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { ScheduleCard } from '../contract/fleet.ts';
import { scheduleActions, type WhyNot } from './actions.ts';

export function scheduleCard(schedule: StoredSchedule, whyNot: WhyNot): ScheduleCard {
  const { metadata, spec, status = {} } = schedule;
  const { namespace, name } = metadata;
  const { operationTemplate, timeZone = DEFAULT_TIME_ZONE, requestedBy = UNKNOWN_USER } = spec;
  const ready = conditionOf(schedule.status, 'Ready');
  const succeeded = conditionOf(schedule.status, 'Succeeded');
  return {
    id: `vmops/${namespace}/${name}`,
    namespace,
    name,
    action: operationTemplate.spec.action,
    schedule: spec.schedule,
    timeZone,
    state: stateOf(schedule),
    tone: toneOf(schedule),
    sentence: (ready?.status === 'False' ? ready.message : succeeded?.message) ?? '',
    requestedBy,
    reason: operationTemplate.spec.reason ?? null,
    nextAt: status.nextScheduleTime ?? null,
    lastAt: status.lastScheduleTime ?? null,
    lastOutcome: succeeded?.reason ?? null,
    active: status.active ?? [],
    lastMissed: missedOf(status),
    actions: scheduleActions(schedule, whyNot),
  };
}

function toneOf(schedule: StoredSchedule): ScheduleCard['tone'] {
  if (schedule.spec.suspend === true) return 'warn';
  const isBad = ['Ready', 'Succeeded'].some((type) => conditionOf(schedule.status, type)?.status === 'False');
  if (isBad) return 'bad';
  return (schedule.status?.active ?? []).length > 0 ? 'busy' : 'good';
}

const missedOf = ({ lastMissed }: Pick<ScheduleStatus, 'lastMissed'>): ScheduleCard['lastMissed'] =>
  lastMissed === undefined ? null : { at: lastMissed.time, message: lastMissed.message };

/** How it stands, in a word: `Pending` before a worker has looked at it. */
const stateOf = (schedule: StoredSchedule): string =>
  schedule.spec.suspend === true ? 'Suspended' : (conditionOf(schedule.status, 'Ready')?.reason ?? 'Pending');
