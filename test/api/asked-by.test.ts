import { expect, test } from 'vitest';
import { askedByStamp, askerOf } from '../../api/asked-by.ts';

test('a requester annotation is valid only for its own revision', () => {
  const stamp = askedByStamp('ci: deploy of 42', '36f3500188');
  expect(askerOf(stamp, '36f3500188')).toBe('ci: deploy of 42');
  expect(askerOf(stamp, '0000000000')).toBeUndefined();
  expect(askerOf(undefined, '36f3500188')).toBeUndefined();
});
