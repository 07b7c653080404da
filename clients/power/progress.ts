import { formatNames } from '../../decisions/lib/names.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import type { PowerProgress } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { paint, plain } from '../cli/output.ts';
import { bar } from '../owners/status-view.ts';

const FAILURES_SHOWN = 20;

/** Describes the state of a run in a few lines. */
export function progressLines(id: string, progress: PowerProgress): string[] {
  const { action, phase, chosen, done, inProgress, failed, skipped, full, paused, aborted } = progress;
  const words = ACTION_LABELS[action];
  const doing = words.doing.toLowerCase();
  const numbers = [
    `${done.length}/${chosen} ${words.done.toLowerCase()}`,
    `${inProgress.length} ${doing}`,
    `${toGo(progress)} to go`,
  ];
  return [
    `${paint('bold', id)}  ${bar(done.length, chosen)} ${numbers.join(', ')}${phase === words.doing ? '' : `: ${phase}`}`,
    ...(paused === null ? [] : [paint('yellow', plain(`  paused by ${paused.by}${because(paused.why)}`))]),
    ...(aborted === null ? [] : [paint('yellow', plain(`  aborted by ${aborted.by}${because(aborted.why)}`))]),
    ...(inProgress.length === 0 ? [] : [plain(`  ${doing}: ${formatNames(inProgress)}`)]),
    ...(full.length === 0
      ? []
      : [plain(`  ${action === 'Restart' ? 'disruption budget used up' : 'no more at once'}: ${full.join(', ')}`)]),
    ...skipped.map(({ why, count, vms }) =>
      plain(`  skipped: ${formatNames(vms)}${count > vms.length ? `, ${count} in all` : ''}: ${why}`),
    ),
    ...failed.slice(-FAILURES_SHOWN).map((failure) => paint('red', plain(`  ${formatFailure(failure)}`))),
  ];
}

/** Number of VMs still to be taken: all of them until the workflow has looked at them for the first time. */
function toGo({ action, phase, chosen, done, inProgress, open, failed, skipped }: PowerProgress): number {
  const isUnder = phase === ACTION_LABELS[action].doing || phase === 'Paused';
  return isUnder && [done, inProgress, failed, skipped].every(({ length }) => length === 0) && open === 0
    ? chosen
    : open;
}

/** Why nothing was to be done to a VM. */
const NOTHING_TO_DO: Record<PowerAction, string> = {
  Start: 'they were already running, are deleted, or were stopped meanwhile',
  Stop: 'they were already stopped, are deleted, or were started meanwhile',
  Restart: 'stopped, deleted, or restarted meanwhile',
};

/** How it ended, in a sentence. */
export function formatEnd({ action, done, chosen, failed, open, skipped }: PowerProgress): string {
  const left = open + skipped.reduce((sum, { count, isExcluded }) => sum + (isExcluded ? count : 0), 0);
  const rest = chosen - done.length - failed.length - left;
  const others = rest === 0 ? '' : `; nothing to do for ${rest}: ${NOTHING_TO_DO[action]}`;
  return `${done.length} of ${chosen} VMs ${ACTION_LABELS[action].done.toLowerCase()}${others}`;
}

/** What was asked for and not done, a sentence each; empty if all was done. */
export function shortfalls(
  id: string,
  { maxFailures, failed, open, aborted, skipped, full }: PowerProgress,
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

/** VMs that nobody may touch, one line per reason. */
export const exclusions = ({ skipped }: PowerProgress): string[] =>
  skipped.filter(({ isExcluded }) => isExcluded).map(({ vms, why }) => `excluded: ${formatNames(vms)}: ${why}`);

const formatLeft = (count: number): string =>
  count === 1 ? '1 VM was left as it is' : `${count} VMs were left as they are`;
const formatFailure = ({ vm, why, wasDown }: PowerProgress['failed'][number]): string =>
  `${vm} failed${wasDown ? ', and was not ready before' : ''}: ${why}`;
const because = (why: string | null): string => (why === null ? '' : `: ${why}`);
