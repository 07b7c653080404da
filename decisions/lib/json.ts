/** A JSON object. */
export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the value at `path`; undefined if there is none. Only own properties count, since a label may be called
 * `constructor`.
 */
export const field = (holder: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), holder);
