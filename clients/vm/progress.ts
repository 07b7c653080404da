import { formatNames } from '../../decisions/lib/names.ts';
import type { RestartProgress } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { paint, plain } from '../cli/output.ts';
import { bar } from '../pools/status-view.ts';

const FAILURES_SHOWN = 20;

/** Describes the state of a restart in a few lines. */
export function progressLines(id: string, progress: RestartProgress): string[] {
  const { phase, chosen, restarted, inHand, failed, passedOver, full, paused, aborted } = progress;
  const numbers = [`${restarted.length}/${chosen} restarted`, `${inHand.length} restarting`, `${toGo(progress)} to go`];
  return [
    `${paint('bold', id)}  ${bar(restarted.length, chosen)} ${numbers.join(', ')}${phase === 'Restarting' ? '' : `: ${phase}`}`,
    ...(paused === null ? [] : [paint('yellow', plain(`  paused by ${paused.by}${because(paused.why)}`))]),
    ...(aborted === null ? [] : [paint('yellow', plain(`  aborted by ${aborted.by}${because(aborted.why)}`))]),
    ...(inHand.length === 0 ? [] : [plain(`  restarting: ${formatNames(inHand)}`)]),
    ...(full.length === 0 ? [] : [plain(`  no room for more: ${full.join(', ')}`)]),
    ...passedOver.map(({ why, count, vms }) =>
      plain(`  passed over: ${formatNames(vms)}${count > vms.length ? `, ${count} in all` : ''}: ${why}`),
    ),
    ...failed.slice(-FAILURES_SHOWN).map((failure) => paint('red', plain(`  ${failureInWords(failure)}`))),
  ];
}

/** Number of VMs still to restart: all of them until the workflow has looked at them for the first time. */
function toGo({ phase, chosen, restarted, inHand, open, failed, passedOver }: RestartProgress): number {
  const isUnder = phase === 'Restarting' || phase === 'Paused';
  return isUnder && [restarted, inHand, failed, passedOver].every(({ length }) => length === 0) && open === 0
    ? chosen
    : open;
}

/** How it ended, in a sentence. */
export function endInWords({ restarted, chosen, failed, open, passedOver }: RestartProgress): string {
  const left = open + passedOver.reduce((sum, { count, isWish }) => sum + (isWish ? count : 0), 0);
  const rest = chosen - restarted.length - failed.length - left;
  const others = rest === 0 ? '' : `; nothing was to be done to ${rest}: stopped, gone, or restarted by somebody else`;
  return `${restarted.length} of ${chosen} VMs restarted${others}`;
}

/** What was asked for and not done, a sentence each; empty if all was done. */
export function shortfalls(
  id: string,
  { maxFailures, failed, open, aborted, passedOver, full }: RestartProgress,
): Failure[] {
  const sentences = failed.slice(-FAILURES_SHOWN).map(failureInWords);
  if (failed.length > FAILURES_SHOWN) sentences.push(`${failed.length - FAILURES_SHOWN} more VMs failed`);
  if (open > 0) sentences.push(`${leftInWords(open)}: ${whyLeft()}`);
  return sentences.map((sentence) => new Failure(sentence));

  function whyLeft(): string {
    if (aborted !== null) return `${id} was aborted by ${aborted.by}${because(aborted.why)}`;
    if (failed.filter(({ wasDown }) => !wasDown).length > maxFailures) return `more than ${maxFailures} have failed`;
    const states = passedOver.filter(({ isWish }) => !isWish).map(({ why, vms }) => `${formatNames(vms)}: ${why}`);
    return [...states, ...(full.length === 0 ? [] : [`no room: ${full.join(', ')}`])].join('; ');
  }
}

/** VMs that must not be disrupted, one line per reason. */
export const wishes = ({ passedOver }: RestartProgress): string[] =>
  passedOver.filter(({ isWish }) => isWish).map(({ vms, why }) => `left alone: ${formatNames(vms)}: ${why}`);

const leftInWords = (count: number): string =>
  count === 1 ? '1 VM was left as it is' : `${count} VMs were left as they are`;
const failureInWords = ({ vm, why, wasDown }: RestartProgress['failed'][number]): string =>
  `${vm} failed${wasDown ? ', and was not ready before' : ''}: ${why}`;
const because = (why: string | null): string => (why === null ? '' : `: ${why}`);
