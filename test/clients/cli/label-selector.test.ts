import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LabelSelector } from '../../../api/pool/pool.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import { checkLabelSelector, labelSelectorOf } from '../../../clients/cli/label-selector.ts';

test.each<[string, LabelSelector]>([
  ['app=web', { matchLabels: { app: 'web' } }],
  ['app==web', { matchLabels: { app: 'web' } }],
  ['app=', { matchLabels: { app: '' } }],
  [
    ' app = web , tier != db ',
    { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['db'] }] },
  ],
  ['app', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }],
  ['!app', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }],
  ['example.com/app in (a, b)', { matchExpressions: [{ key: 'example.com/app', operator: 'In', values: ['a', 'b'] }] }],
  ['app notin (a,)', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a', ''] }] }],
  ['in in (in)', { matchLabels: { in: 'in' } }],
  ['a=b,a=c', { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['c'] }] }],
  ['constructor=b', { matchLabels: { constructor: 'b' } }],
])('%s', (text, selector) => expect(labelSelectorOf(text)).toEqual(selector));

test.each([
  ['', 'a label is missing at its end'],
  ['app=web,', 'a label is missing at its end'],
  [',app', 'a label is missing before ","'],
  ['=web', 'a label is missing before "="'],
  ['app=web tier=db', '"," is missing before "tier"'],
  ['app web', '"web" after app is not one of =, ==, !=, in and notin'],
  ['size>3', '">" after size is not one of =, ==, !=, in and notin'],
  ['app in a,b', 'values stand in parentheses, as in size in (s,m)'],
  ['app in (a,b', 'a "(" has no ")"'],
  ['a/b/c=d', '"a/b/c" is not a valid label key, such as app or example.com/app'],
  [
    'app=-web',
    '"-web" is not a valid label value: use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
  ],
])('the selector %j is refused', (text, why) => {
  const sentence = `${JSON.stringify(text)} is not a valid label selector: ${why}; write it as in app=web,tier!=db,size in (s,m),!old`;
  expect(() => labelSelectorOf(text)).toThrow(new RangeError(sentence));
});

test('the API server compares numbers too', () => {
  for (const text of ['size>3', 'size < -3', 'app=web,size>3', 'size>3,!app']) checkLabelSelector(text);
  expect(() => checkLabelSelector('size>big')).toThrow(
    'the value after size> must be an integer, not "big"; write it as',
  );
  expect(() => checkLabelSelector('size>')).toThrow('the value after size> must be an integer, not ""');
  expect(() => checkLabelSelector('app=web tier=db')).toThrow('"," is missing before "tier"');
  expect(() => checkLabelSelector('>3')).toThrow('a label is missing before ">"');
});

const key = fc.constantFrom('app', 'tier', 'in', 'example.com/size');
const value = fc.constantFrom<string>('web', 'db', 's', '');
const values = fc.array(value, { minLength: 1, maxLength: 3 });

type Label = string | undefined;

/** A requirement in kubectl's syntax, and the predicate that it stands for. */
const requirement: fc.Arbitrary<{ text: string; key: string; holds: (label: Label) => boolean }> = fc.oneof(
  fc.record({ key, value, sign: fc.constantFrom('=', '==', ' = ') }).map(({ key, value, sign }) => {
    return { text: `${key}${sign}${value}`, key, holds: (label: Label) => label === value };
  }),
  fc
    .record({ key, value })
    .map(({ key, value }) => ({ text: `${key}!=${value}`, key, holds: (label: Label) => label !== value })),
  fc.record({ key, values }).map(({ key, values }) => {
    return {
      text: `${key} in (${values.join(', ')})`,
      key,
      holds: (label: Label) => label !== undefined && values.includes(label),
    };
  }),
  fc.record({ key, values }).map(({ key, values }) => {
    return {
      text: `${key} notin (${values.join(',')})`,
      key,
      holds: (label: Label) => label === undefined || !values.includes(label),
    };
  }),
  key.map((key) => ({ text: key, key, holds: (label: Label) => label !== undefined })),
  key.map((key) => ({ text: `! ${key}`, key, holds: (label: Label) => label === undefined })),
);

test('a selector selects by each of its requirements, and the API server accepts it', () => {
  const labels = fc.dictionary(key, value);
  fc.assert(
    fc.property(fc.array(requirement, { minLength: 1, maxLength: 4 }), labels, (requirements, labels) => {
      const selector = labelSelectorOf(requirements.map(({ text }) => text).join(','));
      expect(LabelSelector.parse(selector)).toEqual(selector);
      expect(matchesLabels(selector, labels)).toBe(requirements.every(({ key, holds }) => holds(labels[key])));
    }),
  );
});
