/** Longer than any 64-bit amount in Kubernetes; longer texts would only cost time. */
const MAX_LENGTH = 64;
const SCALE = 9;
const TEN = 10n;
const KIBI = 1024n;
const DECIMAL = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = { Ki: 1n, Mi: 2n, Gi: 3n, Ti: 4n, Pi: 5n, Ei: 6n };

/**
 * Parses a Kubernetes quantity into billionths, the smallest unit that Kubernetes keeps (it rounds away from zero);
 * null if it is not a quantity.
 */
export function parseQuantity(quantity: unknown): bigint | null {
  if (typeof quantity !== 'string' && typeof quantity !== 'number') return null;
  const text = String(quantity);
  if (text.length > MAX_LENGTH) return null;
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|(n|u|m|k|[KMGTPE]i|[MGTPE]))?$/.exec(text);
  if (parts === null) return null;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = parts;
  if (whole + fraction === '') return null;
  const power =
    SCALE -
    fraction.length +
    (exponent === undefined ? (DECIMAL[suffix as keyof typeof DECIMAL] ?? 0) : Number(exponent));
  const count = BigInt(whole + fraction) * KIBI ** (BINARY[suffix as keyof typeof BINARY] ?? 0n);
  const amount = power >= 0 ? count * TEN ** BigInt(power) : dividedUp(count, TEN ** BigInt(-power));
  return sign === '-' ? -amount : amount;
}

/**
 * True for quantities of equal amount, however they are written; values that are not quantities are compared as they
 * are.
 */
export const isSameQuantity = (a: unknown, b: unknown): boolean => (parseQuantity(a) ?? a) === (parseQuantity(b) ?? b);

const dividedUp = (count: bigint, by: bigint): bigint => (count + by - 1n) / by;
