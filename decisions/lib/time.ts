/** Returns a time, in milliseconds since the epoch, as Kubernetes writes it. */
export const rfc3339 = (time: number): string => new Date(time).toISOString();

/** Returns a time in milliseconds since the epoch; null for a text that is none, or no text. */
export function timeOf(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : time;
}
