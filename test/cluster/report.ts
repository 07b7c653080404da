import type { Files } from './files.ts';
import type { Skip } from './given/skip.ts';

/**
 * Lists what was not proved: skipped tests by reason, then files left out; only tests if the files were chosen by hand.
 */
export function report(files: Files, skips: readonly Skip[], chosen: boolean): string {
  const lines: string[] = [];
  for (const [reason, tests] of Object.entries(Object.groupBy(skips, (skipped) => skipped.reason))) {
    lines.push(`  ${reason}`, ...tests!.map(({ file, test }) => `    ${file}: ${test}`));
  }
  const sections = [`${skips.length} tests skipped${lines.length === 0 ? '' : ', each for what it needs:'}`, ...lines];
  if (chosen) return sections.join('\n');
  for (const [reason, some] of Object.entries(Object.groupBy(files.skipped, (skipped) => skipped.reason))) {
    sections.push(`${some!.length} files left out: ${reason}`, ...some!.map(({ file }) => `    ${file}`));
  }
  return sections.join('\n');
}
