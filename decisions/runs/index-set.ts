/** Six members each: a set of many numbers passes from run to run of a workflow as text. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BITS = 6;

const digitAt = (set: string, index: number): number => {
  const digit = set[Math.floor(index / BITS)];
  return digit === undefined ? 0 : DIGITS.indexOf(digit);
};

/** Returns the set with this number, counted from 0. The empty set is empty text. */
export function withIndex(set: string, index: number): string {
  const at = Math.floor(index / BITS);
  const padded = set.padEnd(at, DIGITS[0]);
  return `${padded.slice(0, at)}${DIGITS[digitAt(set, index) | (1 << (index % BITS))]}${padded.slice(at + 1)}`;
}

export const hasIndex = (set: string, index: number): boolean => ((digitAt(set, index) >> (index % BITS)) & 1) === 1;
