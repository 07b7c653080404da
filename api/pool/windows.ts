import * as z from 'zod';
import { CRON_SHAPE, cronFault, timeZoneFault } from '../lib/cron.ts';
import { Duration, textCheckedBy, textMatching } from './text.ts';

const Window = z.strictObject({
  cron: textCheckedBy(textMatching(/^\S+( +\S+){4}$/, 128, CRON_SHAPE), cronFault).describe(
    'When the window opens: minute, hour, day of month, month, day of week.',
  ),
  duration: textCheckedBy(Duration, (text) => (/[1-9]/.test(text) ? undefined : 'must be greater than 0')).describe(
    'How long it stays open.',
  ),
  timeZone: textCheckedBy(z.string().min(1).max(64), timeZoneFault)
    .describe('IANA name such as Europe/Zurich. UTC by default.')
    .exactOptional(),
});
export type MaintenanceWindow = z.infer<typeof Window>;

/** Times outside of which something does not begin. */
export const Windows = z.array(Window).max(32);
