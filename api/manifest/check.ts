import type * as z from 'zod';
import { structuralSchema, type StructuralSchema } from '../crd/structural-schema.ts';
import { closest } from '../lib/closest.ts';
import { listed } from '../lib/listed.ts';
import { formatPath } from './problem.ts';

/** What is wrong with the field at `path`, and what would be right. */
export interface Finding {
  path: PropertyKey[];
  message: string;
}

interface CheckOptions {
  /** Returns a scalar as it is written in the manifest, such as `on` for `true`. */
  written: (path: readonly PropertyKey[]) => string | undefined;
  /** Returns a message for a field that the schema doesn't have; undefined if nothing special is known about it. */
  hint: (path: readonly PropertyKey[]) => string | undefined;
}

/** Returns all that `schema` finds wrong with `value`, in the order of the fields; empty if it is valid. */
export function check(schema: z.ZodType, value: unknown, options: CheckOptions): Finding[] {
  const result = schema.safeParse(value, { error: formatShape });
  if (result.success) return [];
  const unknown = new UnknownFields(schema, options);
  const findings = result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknown.finding([...issue.path, key], at(value, issue.path)))
      : [{ path: issue.path, message: asText(issue, at(value, issue.path), options.written(issue.path)) }],
  );
  // A misspelt field is one fault: don't also report the right one as missing.
  return findings.filter(({ path }) => !unknown.meant.has(keyOf(path)));
}

/** Explains fields that the schema doesn't have, and guesses what they were meant to be. */
class UnknownFields {
  /** Paths of fields that unknown fields were most likely meant to be. */
  readonly meant = new Set<string>();
  readonly #options: CheckOptions;
  readonly #schema: StructuralSchema;
  readonly #holders = new Map<string, PropertyKey[][]>();

  constructor(schema: z.ZodType, options: CheckOptions) {
    this.#options = options;
    this.#schema = structuralSchema(schema);
    collectHolders(this.#schema, [], this.#holders);
  }

  finding(path: PropertyKey[], holder: unknown): Finding {
    const hint = this.#options.hint(path);
    if (hint !== undefined) return { path, message: hint };
    const above = path.slice(0, -1);
    const names = Object.keys(schemaAt(this.#schema, above)?.properties ?? {});
    const free = names.filter(
      (name) => !(typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)),
    );
    const elsewhere = this.#holdersOf(path);
    if (elsewhere.length > 0)
      return { path, message: `unknown field here; it belongs in ${elsewhere.map(formatPath).join(' or ')}` };
    const guess = closest(String(path.at(-1)), free);
    if (guess !== undefined) {
      this.meant.add(keyOf([...above, guess]));
      return { path, message: `unknown field; did you mean ${guess}?` };
    }
    return {
      path,
      message: names.length === 0 ? 'unknown field; none is known here' : `unknown field; known are ${listed(names)}`,
    };
  }

  /** Where a field of exactly this name belongs: below the object in which it was written, or else anywhere. */
  #holdersOf(path: readonly PropertyKey[]): PropertyKey[][] {
    const holders = this.#holders.get(String(path.at(-1))) ?? [];
    const above = path.slice(0, -1);
    const below = holders.filter((holder) => above.every((part, index) => holder[index] === part));
    return below.length > 0 ? below : holders;
  }
}

function collectHolders(schema: StructuralSchema, path: PropertyKey[], holders: Map<string, PropertyKey[][]>): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const known = holders.get(name);
    if (known === undefined) holders.set(name, [path]);
    else known.push(path);
    collectHolders(property, [...path, name], holders);
  }
}

/** Messages for issues without one in the schema. */
function formatShape(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return `must be ${TYPES[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String);
    return values.length === 1 ? `must be ${values[0]}` : `must be one of ${listed(values)}`;
  }
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  if (issue.code === 'too_small') return `must ${measured(issue.origin, `at least ${issue.minimum}`)}`;
  if (issue.code === 'too_big') return `must ${measured(issue.origin, `at most ${issue.maximum}`)}`;
  return issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
}

const TEXT = 'must be text';
const TYPES: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object (lines of "key: value")',
  record: 'an object (lines of "key: value")',
  array: 'a list (lines that begin with "-")',
};

function measured(origin: string, limit: string): string {
  if (origin === 'array') return `have ${limit} ${/\b1$/.test(limit) ? 'entry' : 'entries'}`;
  return origin === 'string' ? `have ${limit} characters` : `be ${limit}`;
}

/** The issue's message, and the value that was found. */
function asText(issue: z.core.$ZodIssue, value: unknown, written: string | undefined): string {
  if (!issue.message.startsWith('must') || issue.code === 'invalid_key') return issue.message;
  if (value === undefined) return `is missing: it ${issue.message}`;
  if (value === null) return `is empty: it ${issue.message}`;
  if (typeof value === 'object')
    return issue.code === 'custom'
      ? issue.message
      : `${issue.message}, found ${Array.isArray(value) ? 'a list' : 'an object'}`;
  if (typeof value === 'string') {
    const unquoted =
      issue.code === 'invalid_type' && issue.expected === 'number' && /^[0-9]+$/.test(value)
        ? ': remove the quotes'
        : '';
    return `${issue.message}, found the text ${JSON.stringify(shortened(value))}${unquoted}`;
  }
  const shown = JSON.stringify(value);
  const source = written === undefined || written === shown ? '' : ` (written ${written})`;
  return `${issue.message}, found ${shown}${source}${issue.message === TEXT ? ': put it in quotes' : ''}`;
}

const shortened = (text: string): string => (text.length <= 60 ? text : `${text.slice(0, 60)}…`);

const keyOf = (path: readonly PropertyKey[]): string => JSON.stringify(path);

const at = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (node, part) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, part)
        ? (node as Record<PropertyKey, unknown>)[part]
        : undefined,
    value,
  );

const ownProperty = ({ properties = {} }: StructuralSchema = {}, name: string): StructuralSchema | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

const schemaAt = (schema: StructuralSchema, path: readonly PropertyKey[]): StructuralSchema | undefined =>
  path.reduce<StructuralSchema | undefined>(
    (node, part) =>
      typeof part === 'number' ? node?.items : (ownProperty(node, String(part)) ?? node?.additionalProperties),
    schema,
  );
