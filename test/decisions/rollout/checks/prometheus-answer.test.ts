import { expect, test } from 'vitest';
import { lookAtAnswer } from '../../../../decisions/rollout/checks/prometheus-answer.ts';

const RANGE = { min: 0.99 };
const success = (data: unknown, more: object = {}): string => JSON.stringify({ status: 'success', data, ...more });
const vector = (...values: unknown[]) => ({
  resultType: 'vector',
  result: values.map((value) => ({ metric: {}, value: [1.5, value] })),
});
const lookAt = (body: string, range: object = RANGE, status = 200) => lookAtAnswer({ status, body }, range);

test.each<[string, unknown, object, string]>([
  ['Holds', vector('0.99'), RANGE, '0.99 is at least 0.99'],
  ['Holds', { resultType: 'scalar', result: [1.5, '1'] }, RANGE, '1 is at least 0.99'],
  ['Holds', vector('3'), { min: 1, max: 5 }, '3 is at least 1 and at most 5'],
  ['Holds', vector('+Inf'), RANGE, 'Infinity is at least 0.99'],
  ['Fails', vector('0.42'), RANGE, '0.42 is less than 0.99'],
  ['Fails', vector('0'), RANGE, '0 is less than 0.99'],
  ['Fails', vector('-Inf'), RANGE, '-Infinity is less than 0.99'],
  ['Fails', vector('7.12345678'), { max: 5 }, '7.12346 is more than 5'],
])('%s: %j', (outcome, data, range, message) => {
  expect(lookAt(success(data), range)).toEqual({ outcome, message });
});

test.each<[string, string, number, string]>([
  ['no series', success(vector()), 200, 'the query finds no series'],
  ['several series', success(vector('1', '1')), 200, 'the query finds 2 series: min(), max() or sum() of them'],
  ['NaN', success(vector('NaN')), 200, 'the value of the query is NaN, which is not a number'],
  ['a histogram', success({ resultType: 'vector', result: [{ histogram: [1, {}] }] }), 200, 'a histogram'],
  ['a matrix', success({ resultType: 'matrix', result: [] }), 200, 'a result of type matrix'],
  ['a text', success({ resultType: 'string', result: [1, 'a'] }), 200, 'a result of type string'],
  ['a partial answer', success(vector('1'), { warnings: ['store is away'] }), 200, 'with a warning: store is away'],
  ['an error of the query', '{"status":"error","error":"parse error"}', 400, 'the HTTP status 400: parse error'],
  ['too many requests', '', 429, 'the HTTP status 429'],
  ['a page of a proxy', '<html>', 502, 'the HTTP status 502'],
  ['a redirection to a login', '', 302, 'the HTTP status 302'],
  ['a page that is no answer', '<html>', 200, 'the HTTP status 200'],
  ['null', 'null', 200, 'the HTTP status 200'],
  ['a value that is none', success(vector({})), 200, 'which is not a number'],
])('the answer %s tells nothing', (_what, body, status, message) => {
  const look = lookAt(body, RANGE, status);
  expect(look.outcome).toBe('Unknown');
  expect(look.message).toContain(message);
});
