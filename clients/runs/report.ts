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
import { paint, plain, bar, type Style } from '../cli/output.ts';

const STYLES: Partial<Record<ReportLine['tone'], Style>> = { hold: 'yellow', failure: 'red' };

/** Describes the state of a run in a few lines. */
export function runLines(id: string, progress: RunProgress & { ended?: string | null }, outline: RunOutline): string[] {
  const { ended = null } = progress;
  const { done, of } = outline.numbers ?? { done: 0, of: 1 };
  const numbers = formatNumbers(outline);
  return [
    `${paint('bold', id)}  ${bar(done, of)} ${numbers === '' ? '' : `${numbers}: `}${progress.phase}`,
    ...(ended === null ? [] : [plain(`  ${ended}`)]),
    ...reportLines(progress, outline).map(({ text, tone }) => {
      const style = STYLES[tone];
      return style === undefined ? plain(`  ${text}`) : paint(style, plain(`  ${text}`));
    }),
  ];
}

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

/** VMs that nobody may touch, one line per reason. */
export const exclusions = ({ skipped }: RunProgress): string[] =>
  skipped.filter(({ isExcluded }) => isExcluded).map((one) => plain(formatSkipped(one)));
