import * as z from 'zod';
import { exactlyOne } from './one-of.ts';
import { Duration, ListedIntOrPercent, rules, WholeNumber } from './text.ts';
import { Windows } from './windows.ts';

const Step = z.strictObject({
  to: ListedIntOrPercent.describe(
    'How many VMs, or what share of the pool, run the new revision when the step is reached.',
  ),
  // `then` is a field of the API; only a function of this name would make the object a thenable.
  // oxlint-disable-next-line unicorn/no-thenable
  then: exactlyOne({
    wait: Duration.describe('Continue automatically after this time.'),
    approval: z.strictObject({}).describe('Continue once a user promotes the rollout.'),
  }).describe('What the rollout waits for at this step.'),
});
export type RolloutStep = z.infer<typeof Step>;

/**
 * Refuses steps whose numbers or percentages fall. Percentages are parsed by their digits, because other ways exceed
 * the API server's cost limit.
 */
const FALLING = rules(
  ['self.map(step, type(step.to) == int, int(step.to)).isSorted()', 'numbers must rise from step to step'],
  [
    "self.map(step, type(step.to) == string && step.to.endsWith('%'), size(step.to) == 4 ? 100 : " +
      'size(step.to) == 3 ? 10 * int(step.to.charAt(0)) + int(step.to.charAt(1)) : int(step.to.charAt(0))).isSorted()',
    'percentages must rise from step to step',
  ],
);

/**
 * drover refuses steps that don't rise, if they can be compared; the API server refuses only those that fall, and
 * accepts equal ones.
 */
const Steps = z
  .array(Step)
  .max(32)
  .check(({ value, issues }) => {
    const highest = { number: 0, string: 0 };
    for (const [index, { to }] of value.entries()) {
      const kind = typeof to === 'number' ? 'number' : 'string';
      const amount = Number.parseInt(String(to), 10);
      if (amount <= highest[kind]) {
        const before = kind === 'number' ? highest[kind] : `${highest[kind]}%`;
        issues.push({
          code: 'custom',
          input: to,
          path: [index, 'to'],
          message: `must be more than the ${before} of a step before it`,
        });
      }
      highest[kind] = Math.max(highest[kind], amount);
    }
  })
  .meta(FALLING)
  .describe('At which points the rollout stops, in this order.');

export const Rollout = z
  .strictObject({
    steps: Steps.exactOptional(),
    minReadySeconds: WholeNumber.min(0)
      .describe('How long a VM must be ready to count as well. 0 by default.')
      .exactOptional(),
    progressDeadlineSeconds: WholeNumber.min(1)
      .describe('How long each VM may take, from when it goes down, until it is well. 600 by default.')
      .exactOptional(),
    onFailure: z
      .enum(['Pause', 'Undo', 'Continue'])
      .describe('What happens when more than maxFailures VMs fail. Pause by default.')
      .exactOptional(),
    maxFailures: WholeNumber.min(0)
      .describe('How many VMs may fail, apart from those that were down before. 0 by default.')
      .exactOptional(),
    onConfigChange: z
      .enum(['Ignore', 'Restart'])
      .describe(
        'What happens when the content of a Secret or ConfigMap changes that VMs read only as they start. Ignore by default.',
      )
      .exactOptional(),
    windows: Windows.describe(
      'Batches begin only inside one of these windows; at any time if there are none.',
    ).exactOptional(),
  })
  .describe('The pace of proactive updates.');
export type Rollout = z.infer<typeof Rollout>;
