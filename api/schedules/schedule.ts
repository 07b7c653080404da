import * as z from 'zod';
import { API_VERSION } from '../labels-and-annotations.ts';
import { OperationTemplateSpec } from '../operations/operation.ts';
import { WritesAndConditions as Common } from '../pool/status.ts';
import { rules, time, WholeNumber } from '../pool/text.ts';
import { CronText, TimeZoneText } from '../pool/windows.ts';
import { MAX_ACTIVE_LISTED } from './defaults-and-limits.ts';

const kept = (which: string, most: number) =>
  WholeNumber.min(0)
    .max(100)
    .describe(`How many of its operations that have ${which} are kept. ${most} by default.`)
    .exactOptional();

export const ScheduleSpec = z.strictObject({
  schedule: CronText.describe('When: minute, hour, day of month, month, day of week.'),
  timeZone: TimeZoneText.describe('IANA name such as Europe/Zurich. UTC by default.').exactOptional(),
  suspend: z
    .boolean()
    .describe('No operation is made while this is true, nor later for the times that pass meanwhile.')
    .exactOptional(),
  startingDeadlineSeconds: WholeNumber.min(10)
    .describe(
      'How late an operation may be made: after that, its time counts as missed. 3600 by default. Of several times that ' +
        'have passed, only the last is made up for.',
    )
    .exactOptional(),
  concurrencyPolicy: z
    .enum(['Forbid', 'Replace', 'Allow'])
    .describe(
      'What happens if an earlier operation is still in progress. Forbid, the default: the next waits for its end, within ' +
        'startingDeadlineSeconds. Replace: that one is aborted, and the next begins when it has ended. Allow: the next begins.',
    )
    .exactOptional(),
  successfulOperationsHistoryLimit: kept('ended well', 3),
  failedOperationsHistoryLimit: kept('failed', 1),
  requestedBy: z
    .string()
    .max(256)
    .describe('The requester. The API server accepts only the name of the user who makes or changes the schedule.')
    .exactOptional(),
  operationTemplate: z.strictObject({ spec: OperationTemplateSpec }).describe('The operation that is made each time.'),
});
export type ScheduleSpec = z.infer<typeof ScheduleSpec>;

export const ScheduleStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  effectiveSince: time(
    'When it was made, or last changed or resumed. Earlier times are not caught up.',
  ).exactOptional(),
  lastScheduleTime: time('The last time for which an operation was made.').exactOptional(),
  lastSuccessfulTime: time('When an operation of it last ended as Complete.').exactOptional(),
  nextScheduleTime: time('The next time for which an operation is to be made.').exactOptional(),
  dueScheduleTime: time('A past time whose operation is still to be made.').exactOptional(),
  lastMissed: z
    .strictObject({ time: time('The time for which no operation was made.'), message: z.string().max(1024) })
    .describe('The last time for which no operation was made.')
    .exactOptional(),
  active: z
    .array(z.string().max(253))
    .max(MAX_ACTIVE_LISTED)
    .describe('The first of its operations in progress.')
    .exactOptional(),
  conditions: Common.conditions,
});
export type ScheduleStatus = z.infer<typeof ScheduleStatus>;

/** The names of its operations end with their times. */
const NAME_RULE = 'size(self.metadata.name) <= 52';
const NAME_SHAPE = 'metadata.name must have at most 52 characters';

/** An operation that is made again and again, by a cron. */
export const VirtualMachineOperationSchedule = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('VirtualMachineOperationSchedule'),
    metadata: z.looseObject({
      name: z.string().max(52, NAME_SHAPE).exactOptional(),
      generateName: z.string().exactOptional(),
      namespace: z.string().exactOptional(),
    }),
    spec: ScheduleSpec,
    status: ScheduleStatus.exactOptional(),
  })
  .meta(rules([NAME_RULE, NAME_SHAPE]));
export type VirtualMachineOperationSchedule = z.infer<typeof VirtualMachineOperationSchedule>;
