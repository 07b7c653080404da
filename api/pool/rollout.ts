import * as z from 'zod';
import { exactlyOne } from './one-of.ts';
import { Duration, IntOrPercent, shaped, WholeNumber } from './text.ts';

const Step = z.strictObject({
  to: IntOrPercent.describe('How many VMs, or what share of the pool, run the new revision when the step is reached.'),
  // The word is the user's; only a function of this name would make it a thenable.
  // oxlint-disable-next-line unicorn/no-thenable
  then: exactlyOne({
    wait: Duration.describe('Go on by itself after this time.'),
    approval: z.strictObject({}).describe('Go on once a person promotes the rollout.'),
  }).describe('What the rollout waits for at this step.'),
});
export type RolloutStep = z.infer<typeof Step>;

const Window = z.strictObject({
  cron: shaped(/^\S+( +\S+){4}$/, 128, 'must have five fields: minute, hour, day of month, month, day of week').describe(
    'When the window opens: minute, hour, day of month, month, day of week.',
  ),
  duration: Duration.describe('How long it stays open.'),
  timeZone: z.string().min(1).max(64).describe('IANA name such as Europe/Zurich. UTC by default.').exactOptional(),
});
export type MaintenanceWindow = z.infer<typeof Window>;

export const Rollout = z
  .strictObject({
    steps: z.array(Step).max(32).describe('Where the rollout stops on its way, in this order.').exactOptional(),
    minReadySeconds: WholeNumber.min(0).describe('How long a VM must be ready to count as well. 0 by default.').exactOptional(),
    progressDeadlineSeconds: WholeNumber.min(1).describe('How long a batch may take. 600 by default.').exactOptional(),
    onFailure: z
      .enum(['Pause', 'Undo', 'Continue'])
      .describe('What happens when more than maxFailures VMs fail. Pause by default.')
      .exactOptional(),
    maxFailures: WholeNumber.min(0).describe('How many VMs may miss their deadline. 0 by default.').exactOptional(),
    windows: z
      .array(Window)
      .max(32)
      .describe('A batch begins only inside one of these; always, where there is none.')
      .exactOptional(),
  })
  .describe('The pace of proactive updates.');
export type Rollout = z.infer<typeof Rollout>;
