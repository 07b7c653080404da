import type { Quantity } from './types.ts';

const FACTORS: Record<string, number> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};
const POWERS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Returns a Kubernetes quantity as a number; NaN if it is invalid. */
export function amountOf(quantity: Quantity): number {
  if (typeof quantity === 'number') return quantity;
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(quantity);
  return parts === null ? NaN : Number(parts[1]) * (FACTORS[parts[2]!] ?? NaN);
}

/** Returns a number of bytes as a Kubernetes quantity, with the largest power of 1024 that divides it. */
export function binary(bytes: number): string {
  let rest = bytes;
  let power = 0;
  for (; rest !== 0 && rest % 1024 === 0 && power < POWERS.length - 1; power++) rest /= 1024;
  return `${rest}${POWERS[power]}`;
}
