/** Returns a time, in milliseconds since the epoch, as Kubernetes writes it. */
export const rfc3339 = (time: number): string => new Date(time).toISOString();

/** Returns a time in milliseconds since the epoch; null for a text that is none, or no text. */
export function timeOf(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : time;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Reports whether a text is a time as Kubernetes reads it. */
export const isRfc3339 = (text: string): boolean => RFC_3339.test(text) && timeOf(text) !== null;
