/** Returns these fields of an object, and no others. */
export function pick<T extends object, const K extends keyof T>(object: T, fields: readonly K[]): Pick<T, K> {
  return Object.fromEntries(fields.map((field) => [field, object[field]])) as Pick<T, K>;
}
