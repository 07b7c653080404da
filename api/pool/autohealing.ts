import * as z from 'zod';
import { Duration, DurationOrNever, IntOrPercent, WholeNumber } from './text.ts';

export const Autohealing = z
  .strictObject({
    startupFailureThreshold: WholeNumber.min(1)
      .describe('How many starts in a row must fail before a VM is replaced. 3 by default.')
      .exactOptional(),
    minFailingToStartDuration: Duration.describe(
      'A VM that KubeVirt has reported as failing for this long is replaced, regardless of the number of starts. No limit by default.',
    ).exactOptional(),
    unhealthyAfter: z
      .strictObject({
        notReady: DurationOrNever.describe(
          'A VM that ran once is replaced when it is not ready for this long. never by default.',
        ).exactOptional(),
        unknownNode: DurationOrNever.describe(
          'The same for a VM whose node is lost. never by default.',
        ).exactOptional(),
      })
      .exactOptional(),
    backoff: z
      .strictObject({
        initial: Duration.describe('The delay before the first replacement. 10s by default.').exactOptional(),
        factor: z
          .number()
          .min(1)
          .max(10)
          .describe('The factor by which the delay grows. 2 by default.')
          .exactOptional(),
        max: Duration.describe('The longest delay. 10m by default.').exactOptional(),
        jitter: z
          .number()
          .min(0)
          .max(1)
          .describe('The maximum share of a delay that is added at random. 0.1 by default.')
          .exactOptional(),
      })
      .exactOptional(),
    maxAttempts: WholeNumber.min(1)
      .describe('After this many replacements a VM is given up. No limit by default.')
      .exactOptional(),
    maxConcurrent: IntOrPercent.describe(
      'How many VMs are healed at once. Never more than 100, also by default.',
    ).exactOptional(),
    maxUnhealthy: IntOrPercent.describe(
      'If more VMs than this are unhealthy, healing is suspended, since the VMs are probably not the cause. 40% by default.',
    ).exactOptional(),
    preserveStorage: z
      .boolean()
      .describe(
        'Whether the disks of a VM that is replaced are kept. By default they are, unless it is certain that the VM never ran.',
      )
      .exactOptional(),
  })
  .describe('Replaces VMs that fail to start. Off by default.');
export type Autohealing = z.infer<typeof Autohealing>;
