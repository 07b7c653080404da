const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in one unit, such as `45 s`, `12 min`, `3 h`, `5 d`; from milliseconds. */
export function lengthOf(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1.5 * MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < 1.5 * HOUR) return `${Math.floor(length / MINUTE)} min`;
  if (length < 2 * DAY) return `${Math.floor(length / HOUR)} h`;
  return `${Math.floor(length / DAY)} d`;
}

/** `4 min ago`, `in 12 min`; `now` within a second. Both are milliseconds since the epoch. */
export function distanceOf(at: number, now: number): string {
  const ms = at - now;
  if (Number.isNaN(ms)) return 'at an unknown time';
  if (Math.abs(ms) < SECOND) return 'now';
  return ms < 0 ? `${lengthOf(ms)} ago` : `in ${lengthOf(ms)}`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Date and time in the browser's zone, to the second: `2026-11-27 16:04:09`. */
export function clockOf(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
