import { canonical } from '../../decisions/lib/canonical-json.ts';

/**
 * Reports whether nothing has changed that a decision reads. `unread`: fields that the decisions in question don't
 * read.
 */
export function looksTheSame<V extends object>(
  before: V | undefined,
  after: V | undefined,
  unread: ReadonlySet<keyof V> = new Set(),
): boolean {
  if (before === undefined || after === undefined) return before === after;
  return Object.entries(after).every(([key, value]: [string, unknown]) => {
    const other: unknown = before[key as keyof V];
    return (
      value === other ||
      key === 'resourceVersion' ||
      unread.has(key as keyof V) ||
      (typeof value === 'object' && canonical(value) === canonical(other))
    );
  });
}
