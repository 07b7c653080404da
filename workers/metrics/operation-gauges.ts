import type { Registry } from 'prom-client';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import { StatusGauges, type Measure } from './status-gauges.ts';

const VMS = { done: 'Done', failed: 'Failed', inProgress: 'InProgress', open: 'Open', excluded: 'Excluded' } as const;

const OF_OPERATIONS: readonly Measure<StoredOperation>[] = [
  {
    name: 'drover_operations',
    help: 'Operations that exist, by their state: the reason of the condition Progressing.',
    by: ['state'],
    read: ({ status: { conditions = [] } = {} }) => [
      [1, { state: conditions.find(({ type }) => type === 'Progressing')?.reason ?? 'Pending' }],
    ],
  },
  {
    name: 'drover_operation_vms',
    help: 'VMs of running operations, by their outcome so far: Done, Failed, InProgress, Open, Excluded.',
    by: ['state'],
    read: ({ status: { vms, completionTime } = {} }) =>
      vms === undefined || completionTime !== undefined
        ? []
        : (Object.keys(VMS) as (keyof typeof VMS)[]).map((outcome) => [vms[outcome], { state: VMS[outcome] }]),
  },
];

const OF_SCHEDULES: readonly Measure<StoredSchedule>[] = [
  {
    name: 'drover_schedule_problem',
    help: '1 for a schedule that makes no operation (Stalled), or whose last one failed or was missed (Succeeded).',
    by: ['type', 'reason'],
    read: ({ status: { conditions = [] } = {} }) =>
      conditions
        .filter(
          ({ type, status }) =>
            (type === 'Stalled' && status === 'True') || (type === 'Succeeded' && status === 'False'),
        )
        .map(({ type, reason = 'Unknown' }) => [1, { type, reason }]),
  },
  {
    name: 'drover_schedule_last_success_timestamp_seconds',
    help: 'When an operation of a schedule last ended as Complete.',
    read: ({ status: { lastSuccessfulTime } = {} }) =>
      lastSuccessfulTime === undefined ? [] : [[Date.parse(lastSuccessfulTime) / 1_000]],
  },
];

/** State of operations. */
export const operationGauges = (registry: Registry): StatusGauges<StoredOperation> =>
  new StatusGauges(registry, OF_OPERATIONS, ['namespace', 'action'], ({ metadata: { namespace = '' }, spec }) => ({
    namespace,
    action: spec.action,
  }));

/** State of the schedules of operations. */
export const scheduleGauges = (registry: Registry): StatusGauges<StoredSchedule> =>
  new StatusGauges(registry, OF_SCHEDULES, ['namespace', 'schedule'], ({ metadata: { namespace, name } }) => ({
    namespace,
    schedule: name,
  }));
