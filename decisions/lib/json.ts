/** An object of an API as JSON carries it. */
export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The value at `path`; undefined where there is none. A label may be called `constructor`: only what is an object's own
 * counts.
 */
export const field = (holder: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), holder);
