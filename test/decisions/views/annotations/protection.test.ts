import { describe, expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION, PROTECT_ANNOTATION } from '../../../../api/labels-and-annotations.ts';
import { isOptedOut, isProtected, protectionsOf } from '../../../../decisions/views/annotations/protection.ts';

const NOW = Date.parse('2026-11-28T20:00:00Z');
const HOUR = 3_600_000;

const written = (fields: string[], time?: string) => ({
  ...(time === undefined ? {} : { time }),
  fieldsV1: { 'f:metadata': { 'f:annotations': Object.fromEntries(fields.map((name) => [`f:${name}`, {}])) } },
});

describe.each([
  [DO_NOT_DISRUPT_ANNOTATION, isOptedOut, 'optedOut'],
  [PROTECT_ANNOTATION, isProtected, 'protected'],
] as const)('the annotation %s', (annotation, is, field) => {
  test.each<[string | undefined, boolean]>([
    [undefined, false],
    ['false', false],
    ['true', true],
    ['True', true],
    ['False', true],
    ['', true],
    ['yes', true],
    ['4', true],
    ['2d', true],
    ['2020-01-01', true],
    ['until monday', true],
    ['2026-11-28T20:00:01Z', true],
    ['2026-11-28T20:00:00Z', false],
    ['2026-11-28T21:00:01+01:00', true],
  ])('with %j protects: %j', (value, expected) => {
    expect(is({ annotations: value === undefined ? {} : { [annotation]: value } }, NOW)).toBe(expected);
  });

  test('with a duration protects for that long since it was written', () => {
    const managedFields = [
      written(['other'], '2026-11-28T19:59:59Z'),
      written([annotation], '2026-11-28T18:00:00Z'),
      written(['other', annotation], '2026-11-28T17:00:00Z'),
    ];
    const marks = { annotations: { [annotation]: '4h' }, managedFields };
    expect(is(marks, NOW + 2 * HOUR - 1)).toBe(true);
    expect(is(marks, NOW + 2 * HOUR)).toBe(false);
    expect(protectionsOf(marks)).toMatchObject({ [field]: true, [`${field}Until`]: NOW + 2 * HOUR });
  });

  test.each([
    ['by nobody that is known', []],
    ['at a time that is not known', [written([annotation])]],
  ])('with a duration that was written %s protects without an end', (_when, managedFields) => {
    const marks = { annotations: { [annotation]: '1s' }, managedFields };
    expect(is(marks, Number.MAX_SAFE_INTEGER)).toBe(true);
    expect(protectionsOf(marks)).toMatchObject({ [field]: true, [`${field}Until`]: null });
  });
});
