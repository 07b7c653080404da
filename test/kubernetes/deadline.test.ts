import { expect, test } from 'vitest';
import { deadlineOf } from '../../kubernetes/lib/deadline.ts';

/** After this, the API server ends a write itself: `requestTimeoutUpperBound` of its handlers. */
const SERVER_ENDS_A_WRITE_MS = 34_000;

test('a write is given up only after the API server would have ended it, as webhooks that it may ignore can take 30 s', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    expect(deadlineOf({ method })).toBeGreaterThan(SERVER_ENDS_A_WRITE_MS);
  expect(deadlineOf({ method: 'GET' })).toBe(30_000);
  expect(deadlineOf({ method: 'POST', deadlineMs: 5_000 })).toBe(5_000);
});
