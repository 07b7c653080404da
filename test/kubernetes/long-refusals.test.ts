import { expect, test } from 'vitest';
import { KubeError } from '../../kubernetes/errors.ts';

/** What Temporal takes as the result of one activity. */
const MOST_BYTES = 2 * 1024 * 1024;

test.each([
  ['plain', 'no! '.repeat(2_048)],
  ['of wide characters', '否'.repeat(8_192)],
])('five hundred refusals of 8 KB fit into one result: %s', (_what, message) => {
  const outcomes = Array.from({ length: 500 }, (_, index) => {
    const { message: why } = new KubeError(403, 'Forbidden', message);
    return { vm: `shop/web-${index}`, uid: crypto.randomUUID(), end: 'Failed', message: why };
  });
  expect(Buffer.byteLength(JSON.stringify(outcomes))).toBeLessThan(MOST_BYTES);
});

test('a message that is not long is left as it is', () => {
  expect(new KubeError(403, 'Forbidden', 'denied').message).toBe('denied');
});
