import * as z from 'zod';
import { CAPS } from '../lib/caps.ts';
import { DURATION } from '../lib/duration.ts';

/**
 * Labels, durations and counts for larger schemas. Each reports errors in one sentence that says what would be right.
 */

type Rule = readonly [rule: string, message: string];

/** Validation rules for the API server: `rule` is CEL, `message` the same sentence that drover uses. */
export const rules = (...pairs: readonly Rule[]) => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});

/** Adds rules to the schema's own. */
export function withRules<T extends z.ZodType>(schema: T, ...pairs: readonly Rule[]): T {
  const key = 'x-kubernetes-validations';
  const before = (schema.meta()?.[key] ?? []) as object[];
  return schema.meta({ [key]: [...before, ...rules(...pairs)[key]] });
}

/** A value whose fields have not been checked: each may be missing, or of any type. */
type Unchecked = Readonly<Record<string, unknown>>;

/** Returns a field of an unchecked value; undefined if the value has no fields. */
export const uncheckedField = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Unchecked)[name] : undefined;

/** A rule across several fields, checked even if one of them is invalid, so that users see all errors at once. */
export const crossFieldRule = <T extends z.ZodType>(
  schema: T,
  isValid: (value: Unchecked) => boolean,
  message: string,
): T =>
  schema.refine((value) => typeof value !== 'object' || value === null || isValid(value as Unchecked), {
    error: message,
    when: () => true,
  });

/** Text that matches a pattern. The API server reports `message` too, instead of the pattern. */
export const textMatching = (pattern: RegExp, maxLength: number, message: string) =>
  z
    .string(message)
    .max(maxLength, message)
    .regex(pattern, message)
    .meta(rules([`self.matches(r'${pattern.source}')`, message]));

/**
 * Text with a further check in code: `fault` says what is wrong with a text that matches the pattern. The API server
 * doesn't check it.
 */
export const textCheckedBy = <T extends z.ZodString>(text: T, fault: (value: string) => string | undefined): T =>
  text.refine((value) => fault(value) === undefined, {
    error: ({ input }) => fault(String(input)),
    when: ({ issues }) => issues.length === 0,
  });

/**
 * A field that is always refused. It is declared so that the API server can say why: of a value of another type than
 * `type` it would say only that.
 */
export const refused = (message: string, type: 'object' | 'string' | 'boolean' | 'array' = 'object') =>
  z.never(message).meta({ ...rules(['false', message]), type });

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

/** A duration such as `30s`, `10m` or `1h30m`. */
export const Duration = textMatching(new RegExp(`^${DURATION.source}$`), 32, DURATION_SHAPE);
export const DurationOrNever = textMatching(
  new RegExp(`^(never|${DURATION.source})$`),
  32,
  `${DURATION_SHAPE}, or never`,
);

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
 * The same in a list, without a CEL rule: Kubernetes before 1.34 assumes that each text has 3 MiB, which makes a rule
 * on many of them exceed the cost limit.
 */
export const ListedIntOrPercent = CountOrPercent.meta({
  'x-kubernetes-int-or-string': true,
  minimum: 1,
  pattern: PERCENT.source,
});

const PERCENT_FROM_0 = /^(100|[1-9]?[0-9])%$/;
const COUNT_FROM_0_SHAPE = 'must be a whole number of at least 0, or a percentage from "0%" to "100%"';
/** A number of VMs, or a percentage of them; either may be 0. */
export const IntOrPercentFrom0 = z
  .union(
    [z.int32(COUNT_FROM_0_SHAPE).min(0, COUNT_FROM_0_SHAPE), z.string().regex(PERCENT_FROM_0, COUNT_FROM_0_SHAPE)],
    COUNT_FROM_0_SHAPE,
  )
  .meta({
    'x-kubernetes-int-or-string': true,
    ...rules([`type(self) == int ? self >= 0 : self.matches(r'${PERCENT_FROM_0.source}')`, COUNT_FROM_0_SHAPE]),
  });

export const LabelKey = textMatching(LABEL_KEY, 317, LABEL_KEY_SHAPE);
export const LabelValue = z.string().max(63, LABEL_VALUE_SHAPE).regex(LABEL_VALUE, LABEL_VALUE_SHAPE);
export const Labels = z.record(z.string().regex(LABEL_KEY, LABEL_KEY_SHAPE), LabelValue);
export const Annotations = z.record(
  z.string().regex(LABEL_KEY, 'must be an annotation key such as note or example.com/note'),
  z.string(),
);

/** A number of objects in a status. */
export const count = (description: string) => z.int32().min(0).describe(description);

/** A time in a status, in RFC 3339. */
export const time = (description: string) => z.string().meta({ format: 'date-time' }).describe(description);

/** Who did something, when, and why. */
export const Act = {
  by: z.string().max(256),
  at: time('When.'),
  reason: z.string().max(1024).exactOptional(),
};

/** A request that a user has made by annotations of the object, and what became of it. */
export const HandledRequest = z.strictObject({
  id: z.string().max(63).describe('Chosen by its author; empty if it could not be read.'),
  digest: z.string().max(64).describe('Hash of its text.'),
  action: z.string().max(63).describe('The requested action; empty if it could not be read.'),
  vms: z
    .array(z.string())
    .max(500)
    .describe('Names of the VMs in the request, for some actions; for members, of the VMs that have moved.')
    .exactOptional(),
  ...Act,
  outcome: z
    .enum(['Done', 'Refused', 'Invalid'])
    .describe('Refused: it no longer applied. Invalid: it could not be read.'),
  message: z.string().max(1024).describe('What was done, or why nothing was.'),
});
export type HandledRequest = z.infer<typeof HandledRequest>;

export const handledRequests = (annotation: string) =>
  z
    .array(HandledRequest)
    .max(CAPS.handledRequests)
    .describe(`Answers to the newest requests in the annotation ${annotation}; the newest last.`)
    .exactOptional();
