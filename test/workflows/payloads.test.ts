import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Unreadable } from '../../decisions/lib/payload-reader.ts';
import * as messages from '../../workflows/messages.ts';
import { cycleTold } from '../../workflows/payloads.ts';
import { healVerdict } from './payloads.ts';

const signals = Object.values(messages).filter((one) => typeof one === 'object' && one.type === 'signal');

test('every signal says how it is read', () => {
  expect(signals.length).toBeGreaterThan(12);
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

  test('whatever is sent is read, or refused with its place', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => void readOrRefuse(value)),
    );
  });

  test('fields of its own with whatever in them are read, or refused', () => {
    const word = fc.constantFrom(
      'vm',
      'by',
      'why',
      'n',
      'outcomes',
      'seen',
      'pools',
      'verdict',
      'hold',
      'report',
      'news',
      'phase',
      'attempt',
      'uid',
      'rules',
      'full',
    );
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('Stands', 'Waiting', 'Ended', 'Sick', 'Gone', 'Left', 'None', 'web-1', 1, '1', true),
    );
    fc.assert(fc.property(fc.dictionary(word, value), (sent) => void readOrRefuse(sent)));
  });

  test('nothing that was sent besides comes through, however deep', () => {
    const read = readOrRefuse({ ...healVerdict, other: deep(100_000), hold: 'None', vm: 'web-1', pools: '5' });
    expect(Object.keys(read ?? {})).not.toContain('other');
  });
});

test('a version is digits alone, and not more than Kubernetes counts', () => {
  const { read } = messages.changed;
  expect(read({ pools: '12', vms: 'abc', vmis: '9'.repeat(1_000_000) }, 'changed')).toEqual({ pools: '12' });
  expect(read(null, 'changed')).toEqual({});
});

test('a pause says who and why, as far as that was told, and is one in any case', () => {
  const { read } = messages.pause;
  expect(read({ by: 'ada', why: 'lunch' }, 'pause')).toEqual({ by: 'ada', why: 'lunch' });
  expect(read('lunch', 'pause')).toEqual({ why: 'lunch' });
  for (const value of [null, undefined, 5, [], {}, { by: 5, why: { no: 'words' } }])
    expect(read(value, 'pause')).toEqual({});
});

test('what can not be read is told with its place and what would be right', () => {
  expect(reading(null)).toThrow('batchEnded is null, and must be an object with n, pool, outcomes, seen');
  expect(reading({ n: 1, outcomes: [{ vm: 'web-1', end: 'Lost' }] })).toThrow(
    'batchEnded.outcomes[0].end is "Lost", and must be Updated, Failed, Deferred, RestartRequired, Gone, Superseded',
  );
  const { rules } = healVerdict;
  const verdict = { ...healVerdict, rules: { ...rules, backoff: { ...rules.backoff, initial: 'soon' } } };
  expect(() => messages.verdict.read(verdict, 'verdict')).toThrow(
    'verdict.rules.backoff.initial is "soon", and must be a duration such as 30s',
  );
});

function deep(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

const reading = (value: unknown) => () => messages.batchEnded.read(value, 'batchEnded');

test('the end of a cycle whose VM is gone, and has no UID, is heard', () => {
  const news = {
    news: 'Ended',
    end: 'Skipped',
    vm: 'web-1',
    pool: 'pool-uid',
    attempt: 1,
    uid: '',
    why: 'skipped by ada',
  } as const;
  expect(cycleTold(news, 'cycleNews')).toEqual(news);
});
