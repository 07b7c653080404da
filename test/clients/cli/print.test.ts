import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { withoutManagedFields } from '../../../api/objects.ts';
import { ageOf, plain, serialize, shortDuration, table } from '../../../clients/cli/print.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('an age', () => {
  test.each([
    [0, '0s'],
    [-5 * SECOND, '0s'],
    [5 * SECOND, '5s'],
    [119 * SECOND, '119s'],
    [2 * MINUTE, '2m'],
    [3 * MINUTE + 7 * SECOND, '3m7s'],
    [10 * MINUTE + 7 * SECOND, '10m'],
    [179 * MINUTE, '179m'],
    [3 * HOUR, '3h'],
    [4 * HOUR + 12 * MINUTE, '4h12m'],
    [8 * HOUR + 12 * MINUTE, '8h'],
    [47 * HOUR, '47h'],
    [2 * DAY, '2d'],
    [2 * DAY + 5 * HOUR, '2d5h'],
    [8 * DAY + 5 * HOUR, '8d'],
    [729 * DAY, '729d'],
    [730 * DAY, '2y'],
    [800 * DAY, '2y70d'],
  ])('of %d ms is %s', (ms, said) => expect(shortDuration(ms)).toBe(said));

  test('counts from a moment to now', () =>
    expect(ageOf('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:42Z'))).toBe('42s'));

  test('is not made up for something without a time', () => {
    expect(ageOf(undefined)).toBe('<unknown>');
    expect(ageOf('soon')).toBe('<unknown>');
  });
});

describe('a table', () => {
  test('has columns three spaces apart, as wide as the widest cell', () => {
    expect(
      table(
        ['NAME', 'READY'],
        [
          ['web', 1],
          ['a-long-name', 10],
        ],
      ),
    ).toEqual(['NAME          READY', 'web           1', 'a-long-name   10']);
  });

  test('leaves out its headers', () => {
    expect(table(['NAME', 'READY'], [['web', 1]], { headers: false })).toEqual(['web    1']);
  });

  test('is without colour if there is no terminal', () => {
    expect(table(['STATUS'], [[{ text: 'Running', style: 'green' }]]).join('')).not.toContain('\u001B');
  });

  test('has no cell that can control the terminal', () => {
    expect(table(['MESSAGE'], [['a\u001B[2Jb\nc']])[1]).toBe('a [2Jb c');
  });
});

test('a text for the terminal loses its control characters', () =>
  expect(plain('\u0007ring\r\n\u009Bx')).toBe(' ring x'));

describe('objects for a program', () => {
  const pool = {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' },
  };

  test('are one object, or a List of many', async () => {
    expect(JSON.parse(await serialize(pool, 'json'))).toEqual(pool);
    expect(JSON.parse(await serialize([pool], 'json'))).toEqual({
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: '' },
      items: [pool],
    });
  });

  test('are YAML that kubectl also reads as the same texts', async () => {
    const object = { ...pool, spec: { on: 'yes', octal: '0644', number: '12' } };
    const yaml = await serialize(object, 'yaml');
    expect(parse(yaml, { version: '1.1' })).toEqual(object);
    expect(yaml).toContain('creationTimestamp: "2026-01-01T00:00:00Z"');
  });

  test('may leave out their managed fields', () => {
    expect(withoutManagedFields({ ...pool, metadata: { ...pool.metadata, managedFields: [{}] } })).toEqual(pool);
  });
});
