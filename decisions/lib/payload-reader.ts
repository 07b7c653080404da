import { field, isObject, parsedObject } from './json.ts';
import { isRfc3339 } from './time.ts';

/**
 * Validates untrusted input: returns a new value that contains only known fields, so that nothing else is passed on.
 * Throws `Unreadable`.
 */
export type Reader<T> = (value: unknown, what: string) => T;

/** Thrown for invalid input; the message says what is wrong, and what would be right. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

interface Optional<T> {
  optional: Reader<T>;
}
type Readers<T> = { [K in keyof T]-?: object extends Pick<T, K> ? Optional<Exclude<T[K], undefined>> : Reader<T[K]> };

const SHOWN = 60;
/** The longest name or UID in Kubernetes. */
const NAME_LENGTH = 253;
const TEXT_LENGTH = 1_024;

/** Reads free text; text that is too long is truncated. */
export const text: Reader<string> = (value, what) => {
  if (typeof value !== 'string') return refuse(value, what, 'a text');
  return value.slice(0, TEXT_LENGTH).toWellFormed();
};

/** Reads a value for which this is true. `right`: what it must be, in words. */
const valueThat =
  <T>(is: (value: unknown) => value is T, right: string): Reader<T> =>
  (value, what) =>
    is(value) ? value : refuse(value, what, right);

const isText = (value: unknown): value is string => typeof value === 'string';
const isName = (value: unknown): value is string =>
  isText(value) && value !== '' && value.length <= NAME_LENGTH && value.isWellFormed();
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isTime = (value: unknown): value is string => isText(value) && isRfc3339(value);

/** Reads text of any length. */
export const anyText = valueThat(isText, 'a text');
/** Reads a JSON object of any shape. */
export const json = valueThat(isObject, 'an object');
/** Reads a name. A name that is too long is refused, since a truncated one would name something else. */
export const name = valueThat(isName, `a name of at most ${NAME_LENGTH} characters`);
export const number = valueThat((value) => typeof value === 'number', 'a number');
export const integer = valueThat(isInteger, 'a whole number');
export const whole = valueThat((value): value is number => isInteger(value) && value >= 0, 'a whole number from 0');
export const flag = valueThat((value) => typeof value === 'boolean', 'true or false');
export const time = valueThat(isTime, 'a time such as 2026-01-31T12:00:00Z');

/** Reads one of the keys of `values`; the type ensures that no key is forgotten. */
export const oneOf =
  <W extends string>(values: Record<W, true>): Reader<W> =>
  (value, what) =>
    typeof value === 'string' && Object.hasOwn(values, value)
      ? (value as W)
      : refuse(value, what, Object.keys(values).join(', '));

export const listOf =
  <T>(read: Reader<T>, most: number): Reader<T[]> =>
  (value, what) =>
    Array.isArray(value) && value.length <= most
      ? value.map((item, index) => read(item, `${what}[${index}]`))
      : refuse(value, what, `a list of at most ${most}`);

export const orNull =
  <T>(read: Reader<T>): Reader<T | null> =>
  (value, what) =>
    value === null ? null : read(value, what);

export const optional = <T>(read: Reader<T>): Optional<T> => ({ optional: read });

/** Reads the known fields, and drops all others. */
export const object =
  <T extends object>(readers: Readers<T>): Reader<T> =>
  (value, what) => {
    if (!isObject(value)) return refuse(value, what, `an object with ${Object.keys(readers).join(', ')}`);
    const fields = Object.entries<Reader<unknown> | Optional<unknown>>(readers).flatMap(([key, reader]) => {
      const given = field(value, key);
      const location = `${what}.${key}`;
      if (typeof reader === 'function') return [[key, reader(given, location)]];
      return given === undefined || given === null ? [] : [[key, reader.optional(given, location)]];
    });
    return Object.fromEntries(fields) as T;
  };

/** Reads one of several kinds of objects, told apart by the field `tag`: each has these other fields. */
export const taggedBy =
  <Tag extends string, T extends Record<Tag, string>>(
    tag: Tag,
    kinds: { [W in T[Tag]]: Readers<Omit<Extract<T, Record<Tag, W>>, Tag>> },
  ): Reader<T> =>
  (value, what) => {
    const kind = field(value, tag);
    if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind))
      return refuse(kind, `${what}.${tag}`, Object.keys(kinds).join(', '));
    const fields: object = object(kinds[kind as T[Tag]])(value, what);
    return Object.fromEntries([[tag, kind], ...Object.entries(fields)]) as T;
  };

/** Reads what an annotation holds in JSON; null if there is none, or it is not as drover writes it. */
export const readAnnotation = <T>(text: string | undefined, read: Reader<T>): T | null =>
  // Most VMs have none of them: to throw and catch that would be a third of the time that a worker takes for a VM.
  text === undefined ? null : readOrNull(parsedObject(text), read);

/** Returns null for a value that is not as it should be. */
export function readOrNull<T>(value: unknown, read: Reader<T>): T | null {
  try {
    return read(value, 'it');
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function refuse(value: unknown, what: string, right: string): never {
  throw new Unreadable(`${what} is ${shown(value)}, and must be ${right}`);
}

/** Describes a value briefly, since it may be long or deep. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
}
