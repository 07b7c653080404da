import * as z from 'zod';
import { CRON_SHAPE, cronFault, timeZoneFault } from '../cron.ts';
import { Duration, faultless, shaped } from './text.ts';

const Window = z.strictObject({
  cron: faultless(shaped(/^\S+( +\S+){4}$/, 128, CRON_SHAPE), cronFault).describe(
    'When the window opens: minute, hour, day of month, month, day of week.',
  ),
  duration: faultless(Duration, (text) => (/[1-9]/.test(text) ? undefined : 'must be longer than no time')).describe(
    'How long it stays open.',
  ),
  timeZone: faultless(z.string().min(1).max(64), timeZoneFault)
    .describe('IANA name such as Europe/Zurich. UTC by default.')
    .exactOptional(),
});
export type MaintenanceWindow = z.infer<typeof Window>;

/** Times outside of which something does not begin. */
export const Windows = z.array(Window).max(32);
