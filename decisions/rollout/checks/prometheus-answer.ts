import type { StepCheck } from '../../../api/pool/pool.ts';
import { field, parsedObject } from '../../lib/json.ts';
import type { Look } from './check.ts';

type Range = Pick<NonNullable<StepCheck['prometheus']>, 'min' | 'max'>;

const unknown = (message: string): Look => ({ outcome: 'Unknown', message });

/**
 * Returns what an answer of Prometheus's API says about a check. Only a number tells anything: no series, several,
 * `NaN`, an error and a warning (of a store that did not answer, say) leave it unknown.
 */
export function lookAtAnswer({ status, body }: { status: number; body: string }, range: Range): Look {
  const answer = parsedObject(body);
  const error = field(answer, 'error');
  if (status >= 400 || field(answer, 'status') !== 'success') {
    const said = typeof error === 'string' ? `: ${error}` : '';
    return unknown(`Prometheus answers with the HTTP status ${status}${said}`);
  }
  const warnings = field(answer, 'warnings');
  if (Array.isArray(warnings) && warnings.length > 0)
    return unknown(`Prometheus answers with a warning: ${String(warnings[0])}`);
  const sample = sampleIn(field(answer, 'data'));
  return typeof sample === 'string' ? unknown(sample) : within(sample.value, range);
}

/** Returns the value that the query has, or why it has none. */
function sampleIn(data: unknown): { value: number } | string {
  const type = field(data, 'resultType');
  const result = field(data, 'result');
  if (type === 'scalar' && Array.isArray(result)) return numberIn(result[1]);
  if (type !== 'vector' || !Array.isArray(result))
    return `the query has a result of type ${String(type)}: it must have a number, or a vector of one series`;
  if (result.length === 0) return 'the query finds no series';
  if (result.length > 1)
    return `the query finds ${result.length} series: min(), max() or sum() of them would be one value`;
  const value = field(result[0], 'value');
  return Array.isArray(value) ? numberIn(value[1]) : 'the query has a histogram for a value';
}

/** Prometheus writes numbers as text, since JSON has neither `NaN` nor `+Inf`. */
function numberIn(text: unknown): { value: number } | string {
  const value = typeof text === 'string' ? Number(text.replace('Inf', 'Infinity')) : Number.NaN;
  return Number.isNaN(value) ? `the value of the query is ${String(text)}, which is not a number` : { value };
}

function within(value: number, { min, max }: Range): Look {
  const is = formatNumber(value);
  if (min !== undefined && value < min) return { outcome: 'Fails', message: `${is} is less than ${formatNumber(min)}` };
  if (max !== undefined && value > max) return { outcome: 'Fails', message: `${is} is more than ${formatNumber(max)}` };
  const least = min === undefined ? [] : [`at least ${formatNumber(min)}`];
  const most = max === undefined ? [] : [`at most ${formatNumber(max)}`];
  return { outcome: 'Holds', message: `${is} is ${[...least, ...most].join(' and ')}` };
}

/** A number with up to six digits: users need not read that 0.98999999 is less than 0.99. */
const formatNumber = (value: number): string => String(Number(value.toPrecision(6)));
