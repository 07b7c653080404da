import * as z from 'zod';
import { DEFAULT_CHECK, DEFAULT_JOB_CHECK, MIN_EVERY_MS } from '../lib/check-defaults.ts';
import { DURATION, durationMs, isDuration } from '../lib/duration.ts';
import { exactlyOne } from './one-of.ts';
import {
  Annotations,
  count,
  crossFieldRule,
  Duration,
  Labels,
  ListedIntOrPercent,
  rules,
  textMatching,
  time,
  uncheckedField,
  WholeNumber,
  withRules,
} from './text.ts';
import { Windows } from './windows.ts';

const ADDRESS_SHAPE = 'must be the http or https URL of a Prometheus, without a user, a query and a fragment';
const RANGE = 'must hold min, max or both';

const Prometheus = z.strictObject({
  address: textMatching(/^https?:\/\/[^\s@?#]+$/, 512, ADDRESS_SHAPE).describe(
    'URL of the Prometheus, or of a server with its API. It must be one of the URLs that workers may ask.',
  ),
  query: z
    .string()
    .min(1)
    .max(4096)
    .describe('An expression of PromQL with one value: a number, or a vector of one series.'),
  min: z.number().describe('The least value with which the check holds.').exactOptional(),
  max: z.number().describe('The greatest value with which the check holds.').exactOptional(),
  secretName: z
    .string()
    .min(1)
    .max(253)
    .describe(
      'A Secret of the type drover.dev/prometheus in the namespace of the pool, with any of token, ca.crt, tls.crt and tls.key.',
    )
    .exactOptional(),
});

const isNumber = (value: unknown): value is number => typeof value === 'number';
const RISING = 'min must not be more than max';
const hasRange = crossFieldRule(Prometheus, ({ min, max }) => min !== undefined || max !== undefined, RANGE);
const Ranged = crossFieldRule(hasRange, ({ min, max }) => !isNumber(min) || !isNumber(max) || min <= max, RISING).meta(
  rules(
    ['has(self.min) || has(self.max)', RANGE],
    ['!has(self.min) || !has(self.max) || self.min <= self.max', RISING],
  ),
);

const Job = z.strictObject({
  template: z
    .strictObject({
      metadata: z
        .strictObject({ labels: Labels.exactOptional(), annotations: Annotations.exactOptional() })
        .describe('Labels and annotations of each Job.')
        .exactOptional(),
      spec: z.looseObject({ template: z.looseObject({}) }).describe('Spec of each Job, as Kubernetes defines it.'),
    })
    .describe('The Job that is made to look, in the namespace of the pool.'),
});

const LEAST_EVERY = 'must be at least 5s';
const EITHER = 'must hold exactly one of prometheus and job';
const SOONER = 'holdsFor must be less than deadline';
const msOf = (value: unknown, otherwise: string): number | undefined => {
  const text = value ?? otherwise;
  return typeof text === 'string' && isDuration(text) ? durationMs(text) : undefined;
};

const Check = z.strictObject({
  prometheus: Ranged.describe('The value of a query must be within a range.').exactOptional(),
  job: Job.describe('A Job must succeed.').exactOptional(),
  holdsFor: Duration.describe(
    'How long the check must hold before the step passes. 5m by default; 0s, which is once, for a Job.',
  ).exactOptional(),
  every: withRules(
    Duration.refine((text) => !isDuration(text) || durationMs(text) >= MIN_EVERY_MS, LEAST_EVERY),
    [`!self.matches(r'^${DURATION.source}$') || duration(self) >= duration('5s')`, LEAST_EVERY],
  )
    .describe('How often it is looked at, at least 5s. 1m by default.')
    .exactOptional(),
  deadline: Duration.describe(
    'The check fails if the step has not passed this long after it was reached. 1h by default.',
  ).exactOptional(),
  failureThreshold: WholeNumber.min(1)
    .max(1000)
    .describe('The check fails once it does not hold this many times in a row. 3 by default, 1 for a Job.')
    .exactOptional(),
  onFailure: z
    .enum(['Pause', 'Undo'])
    .describe(
      'What happens when the check fails: Pause begins no further update, Undo takes the VMs back. As onFailure of the rollout by default; Pause for Continue.',
    )
    .exactOptional(),
});

const holdsForLess = (check: unknown): boolean => {
  const isJob = uncheckedField(check, 'job') !== undefined;
  const holdsFor = msOf(uncheckedField(check, 'holdsFor'), isJob ? DEFAULT_JOB_CHECK.holdsFor : DEFAULT_CHECK.holdsFor);
  const deadline = msOf(uncheckedField(check, 'deadline'), DEFAULT_CHECK.deadline);
  return holdsFor === undefined || deadline === undefined || holdsFor < deadline;
};
const inCel = (field: 'holdsFor' | 'deadline', otherwise: string): string =>
  `duration(has(self.${field}) ? self.${field} : ${otherwise})`;
const HOLDS_FOR = `(has(self.job) ? '${DEFAULT_JOB_CHECK.holdsFor}' : '${DEFAULT_CHECK.holdsFor}')`;
const isOne = ({ prometheus, job }: Readonly<Record<string, unknown>>): boolean =>
  (prometheus === undefined) !== (job === undefined);

export const StepCheck = withRules(
  crossFieldRule(crossFieldRule(Check, isOne, EITHER), holdsForLess, SOONER),
  ['has(self.prometheus) != has(self.job)', EITHER],
  [`${inCel('holdsFor', HOLDS_FOR)} < ${inCel('deadline', `'${DEFAULT_CHECK.deadline}'`)}`, SOONER],
);
export type StepCheck = z.infer<typeof StepCheck>;

const Step = z.strictObject({
  to: ListedIntOrPercent.describe(
    'How many VMs, or what share of the pool, run the new revision when the step is reached.',
  ),
  // `then` is a field of the API; only a function of this name would make the object a thenable.
  // oxlint-disable-next-line unicorn/no-thenable
  then: exactlyOne({
    wait: Duration.describe('Continue automatically after this time.'),
    approval: z.strictObject({}).describe('Continue once a user promotes the rollout.'),
    check: StepCheck.describe('Continue once a check has held for a time; halt the rollout if it fails.'),
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
 * drover refuses steps that don't rise, if they can be compared; the API server refuses only steps that fall, and
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
      .describe('How many VMs may fail, apart from VMs that were down before. 0 by default.')
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

/** What is known of the check of the step that a rollout is at. Only workers write it, as they look. */
export const CheckStatus = z.strictObject({
  of: z
    .strictObject({
      revision: z.string().describe('The revision that is rolled out.'),
      step: count('Number of the step, counted from 1.'),
      since: time('When the step was reached, or the rollout was resumed there.'),
      digest: z.string().max(64).describe('Hash of the check as it is specified.'),
    })
    .describe('What was checked. The check of another revision or step begins anew.'),
  startedAt: time('When drover first looked at the check, without a long gap since.'),
  lastAt: time('When drover last looked at the check.'),
  outcome: z
    .enum(['Holds', 'Fails', 'Unknown'])
    .describe('Result of the last look. Unknown: the look could not tell whether the check holds.'),
  message: z.string().max(1024).describe('The value and its limit, or why there is none.'),
  inARow: count('How many looks in a row have had this result.'),
  holdsSince: time('Since when the check has held, as far as the looks could tell.').exactOptional(),
  holdsUntil: time('When a look last found that the check holds.').exactOptional(),
  run: count('Number of the last Job of the check, counted from 1; absent without Jobs.').exactOptional(),
  job: z
    .strictObject({
      name: z.string(),
      uid: z.string().describe('Absent until the Job is known to exist.').exactOptional(),
    })
    .describe('The Job that has not ended.')
    .exactOptional(),
});
export type CheckStatus = z.infer<typeof CheckStatus>;

/** What a worker has found out about the content of a Secret or ConfigMap, without a word of it. */
export const StoredContent = z.strictObject({
  kind: z.enum(['Secret', 'ConfigMap']),
  name: z.string().max(253),
  writtenAt: time('When a field manager that owns some of its content last wrote it.'),
  changedAt: time('When its content last changed.'),
  same: z
    .array(z.strictObject({ after: time('Start of such a time.'), before: time('End of such a time.') }))
    .max(4)
    .describe('Earlier times at which its content was the same as now.')
    .exactOptional(),
});
