/** A JSON object. */
export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value, if it is an object, or a list; otherwise an empty one. */
export const asObject = (value: unknown): Json => (isObject(value) ? value : {});
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/**
 * Returns the value at `path`; undefined if there is none. Only own properties count, since a label may be called
 * `constructor`.
 */
export const field = (holder: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), holder);

/** Returns these fields of an object, and no others. */
export function pick<T extends object, const K extends keyof T>(object: T, fields: readonly K[]): Pick<T, K> {
  return Object.fromEntries(fields.map((field) => [field, object[field]])) as Pick<T, K>;
}

/** Returns the object that a text, such as an annotation of unknown origin, holds in JSON; null if it holds none. */
export function parsedObject(text: string | undefined): Json | null {
  try {
    const value: unknown = text === undefined ? null : JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
