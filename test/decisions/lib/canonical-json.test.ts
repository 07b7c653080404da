import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../../decisions/lib/canonical-json.ts';

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, reversed(field)] as const);
  return Object.fromEntries([['left out', undefined], ...fields.toReversed()]);
};

test('the text is JSON of the value, whatever the order of its keys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'medium' }), (value) => {
      expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonical(reversed(value))).toBe(canonical(value));
    }),
  );
});

test('keys are sorted', () => {
  expect(canonical({ b: [1, { d: null, c: 'x' }], a: {}, e: [] })).toBe('{"a":{},"b":[1,{"c":"x","d":null}],"e":[]}');
});
