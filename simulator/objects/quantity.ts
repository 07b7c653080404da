import { parseQuantity as billionthsOf } from '../../api/lib/quantity.ts';
import type { Quantity } from './kubevirt.ts';

const POWERS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const BILLION = 10n ** 9n;

/** Returns a Kubernetes quantity as a number; NaN if it is invalid. */
export function quantityToNumber(quantity: Quantity): number {
  const billionths = billionthsOf(quantity);
  // Not one division of numbers: amounts of memory in billionths are too large for them.
  return billionths === null ? NaN : Number(billionths / BILLION) + Number(billionths % BILLION) / 1e9;
}

/** Returns a number of bytes as a Kubernetes quantity, with the largest power of 1024 that divides it. */
export function binaryQuantity(bytes: number): string {
  let rest = bytes;
  let power = 0;
  for (; rest !== 0 && rest % 1024 === 0 && power < POWERS.length - 1; power++) rest /= 1024;
  return `${rest}${POWERS[power]}`;
}
