import * as z from 'zod';
import { DURATION } from '../duration.ts';

/**
 * Labels, durations and counts as parts of larger schemas. Each refuses with one sentence that says what would be
 * right.
 */

/** What the API server checks too: `rule` is CEL, `message` the same sentence that drover says. */
export const rules = (...pairs: readonly (readonly [rule: string, message: string])[]) => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});

/**
 * A rule over several fields, checked even where another field is wrong, so that a user sees all that is wrong at once.
 */
export const across = <T extends z.ZodType>(
  schema: T,
  holds: (value: z.infer<T> & object) => boolean,
  message: string,
): T =>
  schema.refine((value) => typeof value !== 'object' || value === null || holds(value), {
    error: message,
    when: () => true,
  });

/** Text of one shape. The API server says `message` too, instead of showing the pattern. */
export const shaped = (pattern: RegExp, maxLength: number, message: string) =>
  z
    .string(message)
    .max(maxLength, message)
    .regex(pattern, message)
    .meta(rules([`self.matches(r'${pattern.source}')`, message]));

/**
 * Text that is also what only a program can tell: `fault` says what is wrong with one of the right shape. The API
 * server doesn't look.
 */
export const faultless = <T extends z.ZodString>(text: T, fault: (value: string) => string | undefined): T =>
  text.refine((value) => fault(value) === undefined, {
    error: ({ input }) => fault(String(input)),
    when: ({ issues }) => issues.length === 0,
  });

/** A field that is never right. It is declared, so that the API server can say why. */
export const refused = (message: string) => z.never(message).meta(rules(['false', message]));

export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const LABEL_KEY =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PERCENT = /^(100|[1-9][0-9]?)%$/;

const DURATION_SHAPE = 'must be a duration such as 30s, 10m or 1h30m (units: ms, s, m, h)';
const COUNT_SHAPE = 'must be a whole number of at least 1, or a percentage from "1%" to "100%"';
const LABEL_VALUE_SHAPE =
  'must be at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends, or empty';
const LABEL_KEY_SHAPE = 'must be a label key such as app or example.com/app';

export const WholeNumber = z.int32({
  error: ({ code }) => (code === 'invalid_type' ? 'must be a whole number' : undefined),
});

/** `30s`, `10m`, `1h30m`. */
export const Duration = shaped(new RegExp(`^${DURATION.source}$`), 32, DURATION_SHAPE);
/** A duration, or `never`. */
export const DurationOrNever = shaped(new RegExp(`^(never|${DURATION.source})$`), 32, `${DURATION_SHAPE}, or never`);

const CountOrPercent = z.union(
  [z.int32(COUNT_SHAPE).min(1, COUNT_SHAPE), z.string().regex(PERCENT, COUNT_SHAPE)],
  COUNT_SHAPE,
);
/** A number of VMs of at least 1, or a percentage of them. */
export const IntOrPercent = CountOrPercent.meta({
  'x-kubernetes-int-or-string': true,
  ...rules([`type(self) == int ? self >= 1 : self.matches(r'${PERCENT.source}')`, COUNT_SHAPE]),
});
/**
 * The same in a list. Kubernetes before 1.34 takes each text for one of 3 MiB, and so many of them for more than a rule
 * may cost.
 */
export const ListedIntOrPercent = CountOrPercent.meta({
  'x-kubernetes-int-or-string': true,
  minimum: 1,
  pattern: PERCENT.source,
});

export const LabelKey = shaped(LABEL_KEY, 317, LABEL_KEY_SHAPE);
export const LabelValue = z.string().max(63, LABEL_VALUE_SHAPE).regex(LABEL_VALUE, LABEL_VALUE_SHAPE);
export const Labels = z.record(z.string().regex(LABEL_KEY, LABEL_KEY_SHAPE), LabelValue);
export const Annotations = z.record(
  z.string().regex(LABEL_KEY, 'must be an annotation key such as note or example.com/note'),
  z.string(),
);
