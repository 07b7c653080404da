const copies = new WeakSet<object>();

/**
 * Returns a copy of the value as JSON would store it, which all may share, since nobody can change it. Parts that are
 * such copies already are not copied again.
 */
export const frozen = <T>(value: T): T => partOf(value) as T;

function partOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null || copies.has(value)) return value;
  if ('toJSON' in value) return partOf((value.toJSON as () => unknown)());
  const copy = Array.isArray(value) ? value.map((part) => partOf(part) ?? null) : fieldsOf(value);
  copies.add(Object.freeze(copy));
  return copy;
}

function fieldsOf(value: object): object {
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const part = partOf(field);
    if (part !== undefined) fields[name] = part;
  }
  return fields;
}
