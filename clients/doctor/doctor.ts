import { Failure } from '../cli/failure.ts';
import { print, table, type Cell, type Style, printData, type DataFormat } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { examine } from './examine.ts';
import type { Finding, Outcome } from './finding.ts';
import type { WorkerAccount } from './rights.ts';

/** Prints what each check has found. Throws `Failure` if one has failed. */
export const doctor: Work<{ worker: WorkerAccount; output?: DataFormat }> = async (session, { worker, output }) => {
  const findings = await examine(session, worker);
  if (output === undefined) print(table(HEADERS, findingRows(findings)));
  else await printData({ items: findings }, output);
  if (findings.some(({ outcome }) => outcome === 'Failed')) throw new Failure(summaryOf(findings));
  if (output === undefined) print(summaryOf(findings));
};

const STYLES: Record<Outcome, Style> = { OK: 'green', Warning: 'yellow', Failed: 'red', Unknown: 'gray' };

const HEADERS = ['CHECK', 'OUTCOME', 'MESSAGE'];

/** Returns a row for each finding, and below it how to fix it. */
const findingRows = (findings: readonly Finding[]): Cell[][] =>
  findings.flatMap(({ check, outcome, message, fix }) => [
    [check, { text: outcome, style: STYLES[outcome] }, message],
    ...(fix === undefined ? [] : [['', '', `fix: ${fix}`]]),
  ]);

/** Returns one sentence for all findings. */
function summaryOf(findings: readonly Finding[]): string {
  const count = (outcome: Outcome): number => findings.filter((one) => one.outcome === outcome).length;
  const [bad, warned, unknown] = [count('Failed'), count('Warning'), count('Unknown')];
  const parts = [
    `${bad === 0 ? 'none' : bad} failed`,
    ...(warned > 0 ? [warned === 1 ? '1 warning' : `${warned} warnings`] : []),
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ];
  return `${findings.length} checks: ${parts.join(', ')}`;
}
