import type { Cell, Style } from '../cli/print.ts';
import type { Finding, Outcome } from './finding.ts';

const STYLES: Record<Outcome, Style> = { OK: 'green', Warning: 'yellow', Failed: 'red', Unknown: 'gray' };

export const HEADERS = ['CHECK', 'OUTCOME', 'MESSAGE'];

/** Returns a row for each finding, and below it how to fix it. */
export const findingRows = (findings: readonly Finding[]): Cell[][] =>
  findings.flatMap(({ check, outcome, message, fix }) => [
    [check, { text: outcome, style: STYLES[outcome] }, message],
    ...(fix === undefined ? [] : [['', '', `fix: ${fix}`]]),
  ]);

/** Returns one sentence for all findings. */
export function summaryOf(findings: readonly Finding[]): string {
  const count = (outcome: Outcome): number => findings.filter((one) => one.outcome === outcome).length;
  const [bad, warned, unknown] = [count('Failed'), count('Warning'), count('Unknown')];
  const rest = [
    ...(warned > 0 ? [`${warned} warned`] : []),
    ...(unknown > 0 ? [`${unknown} could not be looked at`] : []),
  ];
  const of = `${findings.length} findings`;
  if (bad === 0) return [`nothing of ${of} keeps drover from working`, ...rest].join('; ');
  return [`${bad} of ${of} failed`, ...rest].join('; ');
}
