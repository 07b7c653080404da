import { expect, test } from 'vitest';
import { RepeatedProblem, whyUnreached } from '../../../workers/health/repeated-problem.ts';

test('a lasting problem is reported once, and again each minute; another problem at once', () => {
  const told: string[] = [];
  let now = 0;
  const problem = new RepeatedProblem(
    (words) => told.push(`${now / 1000}: ${words}`),
    () => now,
  );
  for (; now < 130_000; now += 1000) problem.lasts('refused');
  problem.lasts('no such host');
  problem.lasts('no such host');
  problem.lasts('refused');
  expect(told).toEqual(['0: refused', '60: refused', '120: refused', '130: no such host', '130: refused']);
});

test.each([
  [
    'tonic::transport::Error(Transport, ConnectError(ConnectError("tcp connect error", 127.0.0.1:1, Os { code: 111, kind: ConnectionRefused, message: "Connection refused" })))',
    'Connection refused',
  ],
  [
    'tonic::transport::Error(Transport, ConnectError(ConnectError("dns error", Custom { kind: Uncategorized, error: "failed to lookup address information: Name or service not known" })))',
    'failed to lookup address information: Name or service not known',
  ],
  [
    'Failed to call GetSystemInfo: code: \'Unknown error\', message: "transport error", source: tonic::transport::Error(…)',
    'transport error',
  ],
  ['anything else', 'anything else'],
])("the words of Temporal's core about a connection are kept: %s", (message, words) =>
  expect(whyUnreached(new Error(message))).toBe(words),
);
