import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQuantity, isSameQuantity } from '../../../api/lib/quantity.ts';

const ONE = 1_000_000_000n;

test.each<[string | number, bigint]>([
  ['0', 0n],
  ['1', ONE],
  [2, 2n * ONE],
  ['1.5', 1_500_000_000n],
  ['.5', 500_000_000n],
  ['5.', 5n * ONE],
  ['-1', -ONE],
  ['+1', ONE],
  ['1n', 1n],
  ['1u', 1_000n],
  ['100m', 100_000_000n],
  ['1k', 1_000n * ONE],
  ['1E', 10n ** 18n * ONE],
  ['1e3', 1_000n * ONE],
  ['1E3', 1_000n * ONE],
  ['12e-1', 1_200_000_000n],
  ['1Ki', 1_024n * ONE],
  ['1.5Gi', 1_610_612_736n * ONE],
  ['8Ei', 8n * 2n ** 60n * ONE],
  // Kubernetes keeps nothing smaller than a billionth, and rounds away from zero.
  ['0.1n', 1n],
  ['-1.1n', -2n],
])('%s', (quantity, amount) => expect(parseQuantity(quantity)).toBe(amount));

test.each([
  '',
  '.',
  'Gi',
  '1gi',
  '1 Gi',
  '1K',
  '1ki',
  '1e',
  '1e3Gi',
  'NaN',
  '0x1',
  '--1',
  '1e999999999',
  null,
  undefined,
  {},
])('%j is not a quantity', (text) => {
  expect(parseQuantity(text)).toBeNull();
});

test('one amount has many spellings', () => {
  expect(isSameQuantity('1Gi', '1024Mi')).toBe(true);
  expect(isSameQuantity('1G', '1Gi')).toBe(false);
  expect(isSameQuantity(null, null)).toBe(true);
  expect(isSameQuantity(null, '0')).toBe(false);
  // A JavaScript number can't hold the difference.
  expect(isSameQuantity('9007199254740993', '9007199254740992')).toBe(false);
});

test('suffixes multiply', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (count) => {
      expect(parseQuantity(`${count}Mi`)).toBe(parseQuantity(`${count * 1_048_576n}`));
      expect(parseQuantity(`${count}M`)).toBe(parseQuantity(`${count}e6`));
      expect(parseQuantity(`${count}m`)! * 1_000n).toBe(parseQuantity(`${count}`));
    }),
  );
});
