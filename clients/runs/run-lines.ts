import type { RunProgress, RunOutline } from '../../decisions/runs/progress.ts';
import {
  FAILURES_SHOWN,
  formatFailure,
  formatMore,
  formatNumbers,
  formatSkipped,
  formatUndone,
  reportLines,
  type ReportLine,
} from '../../decisions/runs/report.ts';
import { Failure } from '../cli/failure.ts';
import { ageOf, bar, paint, plain, type Style } from '../cli/print.ts';

/**
 * Milliseconds since the epoch. If undefined, times are printed as timestamps, so that lines change only when what they
 * tell does.
 */
export type Now = number | undefined;

/** What acts on VMs, as users see it: a run, or the rollout of a pool. */
export interface Shown {
  progress: RunProgress;
  outline: RunOutline;
  /** How it stands, in a sentence; empty if the numbers and the lines of VMs tell it. */
  sentence: string;
  /** The colour of its phase. */
  style?: Style;
}

const STYLES: Partial<Record<ReportLine['tone'], Style>> = { warning: 'yellow', failure: 'red' };

/** Describes how it stands in a few lines: its name, its numbers, and what holds it up or has failed. */
export function runLines(name: string, shown: Shown, now: Now): string[] {
  const { outline, sentence } = shown;
  const { done, of } = outline.numbers ?? { done: 0, of: 1 };
  const numbers = formatNumbers(outline);
  return [
    `${paint('bold', plain(name))}  ${bar(done, of)} ${numbers === '' ? '' : `${numbers}: `}${phaseOf(shown)}`,
    ...[...(sentence === '' ? [] : [plain(sentence)]), ...reports(shown, now)].map((line) => `  ${line}`),
  ];
}

/** The same without name and numbers. */
export function stateLines(shown: Shown, now: Now): string[] {
  const { sentence } = shown;
  return [`${phaseOf(shown)}${sentence === '' ? '' : `: ${plain(sentence)}`}`, ...reports(shown, now)];
}

const phaseOf = ({ progress: { phase }, style }: Shown): string => (style === undefined ? phase : paint(style, phase));

function reports({ progress, outline }: Shown, now: Now): string[] {
  const when = (at: string): string => (at === '' ? '' : ` ${whenOf(at, now)}`);
  return reportLines(progress, outline, when).map(({ text, tone }) => {
    const style = STYLES[tone];
    return style === undefined ? plain(text) : paint(style, plain(text));
  });
}

/** `3m ago`, or `at` the timestamp without `now`. */
export const whenOf = (at: string, now: Now): string => (now === undefined ? `at ${at}` : `${ageOf(at, now)} ago`);

/** What was asked for and not done, a sentence each; empty if all was done. VMs that it still waits for don't count. */
export function shortfalls(progress: RunProgress, outline: RunOutline): Failure[] {
  const shown = progress.failed.slice(-FAILURES_SHOWN);
  const more = outline.failures - shown.length;
  return [
    ...shown.map((failure) => formatFailure(failure)),
    ...(more > 0 ? [formatMore(more)] : []),
    formatUndone(progress, outline),
  ]
    .filter((sentence) => sentence !== '')
    .map((sentence) => new Failure(plain(sentence)));
}

/** VMs that may not be touched, one line per reason. */
export const exclusions = ({ skipped }: RunProgress): string[] =>
  skipped.filter(({ isExcluded }) => isExcluded).map((one) => plain(formatSkipped(one)));
