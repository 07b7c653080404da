import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Unreadable } from '../../../decisions/lib/payload-reader.ts';
import * as messages from '../../../workflows/lib/messages.ts';
import { healEnd } from './payloads.ts';

const signals = Object.values(messages).filter((one) => typeof one === 'object' && one.type === 'signal');

test('every signal has a reader', () => {
  expect(signals.length).toBeGreaterThan(7);
  for (const signal of signals) expect(signal).toMatchObject({ read: expect.any(Function) });
});

describe.each(signals.map((signal) => [signal.name, signal] as const))('%s', (name, { read }) => {
  const readOrRefuse = (value: unknown): unknown => {
    try {
      return read(value, name);
    } catch (error) {
      if (error instanceof Unreadable) return null;
      throw error;
    }
  };

  test('every payload is either parsed or rejected with the path of the error', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => void readOrRefuse(value)),
    );
  });

  test('a field of its own with any content is read, or refused', () => {
    const word = fc.constantFrom(
      'vm',
      'by',
      'reason',
      'n',
      'outcomes',
      'minVersions',
      'pools',
      'attempt',
      'uid',
      'startedAt',
      'nextAt',
      'keptDisks',
      'outcome',
      'full',
    );
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(healEnd.outcome, healEnd.startedAt, 'Removed', 'Kept', 'web-1', 1, '1', true),
    );
    fc.assert(fc.property(fc.dictionary(word, value), (sent) => void readOrRefuse(sent)));
  });

  test('unknown fields are dropped at any depth', () => {
    const read = readOrRefuse({ ...healEnd, other: deep(100_000), pools: '5' });
    expect(Object.keys(read ?? {})).not.toContain('other');
  });
});

test('a version is digits alone, and no longer than Kubernetes counts', () => {
  const { read } = messages.changed;
  expect(read({ pools: '12', vms: 'abc', vmis: '9'.repeat(1_000_000) }, 'changed')).toEqual({ pools: '12' });
  expect(read(null, 'changed')).toEqual({});
});

test('a pause is accepted with or without requester and reason', () => {
  const { read } = messages.pause;
  expect(read({ by: 'ada', reason: 'lunch' }, 'pause')).toEqual({ by: 'ada', reason: 'lunch' });
  expect(read('lunch', 'pause')).toEqual({ reason: 'lunch' });
  for (const value of [null, undefined, 5, [], {}, { by: 5, reason: { no: 'words' } }])
    expect(read(value, 'pause')).toEqual({});
});

test('a payload that cannot be read is reported with its place and what would be right', () => {
  expect(reading(null)).toThrow(
    'batchEnded is null, and must be an object with n, pool, outcomes, goesOn, minVersions',
  );
  expect(reading({ n: 1, outcomes: [{ vm: 'web-1', end: 'Lost' }] })).toThrow(
    'batchEnded.outcomes[0].end is "Lost", and must be Updated, Failed, Deferred, NotBegun, RestartRequired, Gone, Superseded',
  );
  const early = { ...healEnd, outcome: { ...healEnd.outcome, nextAt: 'soon' } };
  expect(() => messages.attemptEnded.read(early, 'attemptEnded')).toThrow(
    'attemptEnded.outcome.nextAt is "soon", and must be a time such as 2026-01-31T12:00:00Z',
  );
});

function deep(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

const reading = (value: unknown) => () => messages.batchEnded.read(value, 'batchEnded');

test.each([
  healEnd.outcome,
  { end: 'Kept', message: 'it is no longer unhealthy' },
  { end: 'Refused', message: 'denied' },
  { end: 'Cancelled', isRemoved: true },
])('parses the end of an attempt: %j', (outcome) => {
  const ended = { ...healEnd, outcome };
  expect(messages.attemptEnded.read(ended, 'attemptEnded')).toEqual(ended);
});
