import { formatNames } from '../../decisions/lib/names.ts';
import type { RestartProgress } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { paint, plain } from '../cli/output.ts';
import { bar } from '../owners/status-view.ts';

const FAILURES_SHOWN = 20;

/** Describes the state of a restart in a few lines. */
export function progressLines(id: string, progress: RestartProgress): string[] {
  const { phase, chosen, restarted, inProgress, failed, skipped, full, paused, aborted } = progress;
  const numbers = [
    `${restarted.length}/${chosen} restarted`,
    `${inProgress.length} restarting`,
    `${toGo(progress)} to go`,
  ];
  return [
    `${paint('bold', id)}  ${bar(restarted.length, chosen)} ${numbers.join(', ')}${phase === 'Restarting' ? '' : `: ${phase}`}`,
    ...(paused === null ? [] : [paint('yellow', plain(`  paused by ${paused.by}${because(paused.why)}`))]),
    ...(aborted === null ? [] : [paint('yellow', plain(`  aborted by ${aborted.by}${because(aborted.why)}`))]),
    ...(inProgress.length === 0 ? [] : [plain(`  restarting: ${formatNames(inProgress)}`)]),
    ...(full.length === 0 ? [] : [plain(`  no room for more: ${full.join(', ')}`)]),
    ...skipped.map(({ why, count, vms }) =>
      plain(`  skipped: ${formatNames(vms)}${count > vms.length ? `, ${count} in all` : ''}: ${why}`),
    ),
    ...failed.slice(-FAILURES_SHOWN).map((failure) => paint('red', plain(`  ${formatFailure(failure)}`))),
  ];
}

/** Number of VMs still to restart: all of them until the workflow has looked at them for the first time. */
function toGo({ phase, chosen, restarted, inProgress, open, failed, skipped }: RestartProgress): number {
  const isUnder = phase === 'Restarting' || phase === 'Paused';
  return isUnder && [restarted, inProgress, failed, skipped].every(({ length }) => length === 0) && open === 0
    ? chosen
    : open;
}

/** How it ended, in a sentence. */
export function formatEnd({ restarted, chosen, failed, open, skipped }: RestartProgress): string {
  const left = open + skipped.reduce((sum, { count, isExcluded }) => sum + (isExcluded ? count : 0), 0);
  const rest = chosen - restarted.length - failed.length - left;
  const others = rest === 0 ? '' : `; nothing was to be done to ${rest}: stopped, gone, or restarted by somebody else`;
  return `${restarted.length} of ${chosen} VMs restarted${others}`;
}

/** What was asked for and not done, a sentence each; empty if all was done. */
export function shortfalls(
  id: string,
  { maxFailures, failed, open, aborted, skipped, full }: RestartProgress,
): Failure[] {
  const sentences = failed.slice(-FAILURES_SHOWN).map(formatFailure);
  if (failed.length > FAILURES_SHOWN) sentences.push(`${failed.length - FAILURES_SHOWN} more VMs failed`);
  if (open > 0) sentences.push(`${formatLeft(open)}: ${whyLeft()}`);
  return sentences.map((sentence) => new Failure(sentence));

  function whyLeft(): string {
    if (aborted !== null) return `${id} was aborted by ${aborted.by}${because(aborted.why)}`;
    if (failed.filter(({ wasDown }) => !wasDown).length > maxFailures) return `more than ${maxFailures} have failed`;
    const states = skipped.filter(({ isExcluded }) => !isExcluded).map(({ why, vms }) => `${formatNames(vms)}: ${why}`);
    return [...states, ...(full.length === 0 ? [] : [`no room: ${full.join(', ')}`])].join('; ');
  }
}

/** VMs that must not be disrupted, one line per reason. */
export const exclusions = ({ skipped }: RestartProgress): string[] =>
  skipped.filter(({ isExcluded }) => isExcluded).map(({ vms, why }) => `left alone: ${formatNames(vms)}: ${why}`);

const formatLeft = (count: number): string =>
  count === 1 ? '1 VM was left as it is' : `${count} VMs were left as they are`;
const formatFailure = ({ vm, why, wasDown }: RestartProgress['failed'][number]): string =>
  `${vm} failed${wasDown ? ', and was not ready before' : ''}: ${why}`;
const because = (why: string | null): string => (why === null ? '' : `: ${why}`);
