import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import type { RunProgress, RunOutline } from '../../decisions/runs/progress.ts';
import { formatNumbers, reportLines } from '../../decisions/runs/report.ts';

/** Returns the Markdown that the Web UI shows of a run. The UI cuts the end off: what does not change comes last. */
export function runDetails(progress: RunProgress, outline: RunOutline): string {
  const numbers = formatNumbers(outline);
  return [
    `**${progress.phase}**${numbers === '' ? '' : `: ${numbers}`}`,
    ...reportLines(progress, outline).map(({ text }) => escapeMarkdown(text)),
  ].join('\n\n');
}
