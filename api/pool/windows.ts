import * as z from 'zod';
import { CRON_SHAPE, cronFault, timeZoneFault } from '../lib/cron.ts';
import { Duration, rules, textCheckedBy, textMatching } from './text.ts';

/** Five fields of a cron. */
export const CronText = textCheckedBy(textMatching(/^\S+( +\S+){4}$/, 128, CRON_SHAPE), cronFault);

const ZONE_SHAPE = 'must be the name of a time zone such as Europe/Zurich or UTC';
/** Evaluation fails in a zone that the API server does not know, and so does the rule. */
const ZONE_RULE = "timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0";

export const TimeZoneText = textCheckedBy(
  z
    .string()
    .min(1)
    .max(64)
    .meta(rules([ZONE_RULE, ZONE_SHAPE])),
  timeZoneFault,
);

const Window = z.strictObject({
  cron: CronText.describe('When the window opens: minute, hour, day of month, month, day of week.'),
  duration: textCheckedBy(Duration, (text) => (/[1-9]/.test(text) ? undefined : 'must be greater than 0')).describe(
    'How long it stays open.',
  ),
  timeZone: TimeZoneText.describe('IANA name such as Europe/Zurich. UTC by default.').exactOptional(),
});
export type MaintenanceWindow = z.infer<typeof Window>;

/** Times outside of which something does not begin. */
export const Windows = z.array(Window).max(32);
