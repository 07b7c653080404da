import { countOf, type IntOrPercent } from '../../api/lib/int-or-percent.ts';
import { formatNames } from '../lib/names.ts';
import type { FailedVm, RunProgress, RunOutline } from './progress.ts';
import type { Skipped } from './skipped.ts';

/** A line about a run, for the terminal and the Web UI. */
export interface ReportLine {
  text: string;
  tone: 'plain' | 'warning' | 'failure';
}

export const FAILURES_SHOWN = 20;

/** `1 VM`, `12 VMs`. */
export const formatVms = (count: number): string => `${count} ${count === 1 ? 'VM' : 'VMs'}`;

/** How many VMs, and how many of them at once, which may be given as a percentage. */
export const formatPace = (vms: number, atOnce: IntOrPercent): string =>
  `${formatVms(vms)}, ${Math.min(countOf(atOnce, vms, 1), vms)} at a time`;

/** Such as `1 in progress` and `6 to go`, in this order, without those of which there are none. */
export const formatCounts = (counts: readonly (readonly [number, string])[]): string[] =>
  counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);

export const because = (reason: string | null | undefined): string => (reason == null ? '' : `: ${reason}`);

/** Such as `paused by ada 3m ago: lunch`; `when` has a space before it. */
export const formatRequest = (
  done: string,
  { by, reason }: { by: string; reason?: string | null | undefined },
  when = '',
): string => `${done} by ${by}${when}${because(reason)}`;

/** `when` has a space before it. */
export const formatFailure = ({ vm, message, wasDown }: FailedVm, when = ''): string =>
  `${vm} failed${when}${wasDown === true ? ', and was not ready before' : ''}${message === '' ? '' : `: ${message}`}`;

/** Such as `deferred: shop/db-1 … shop/db-4 and 8 more: it is paused`. */
export const formatSkipped = ({ message, isExcluded, count, vms }: Skipped): string =>
  `${isExcluded ? 'excluded' : 'deferred'}: ${formatNames(vms)}${count > vms.length ? ` and ${count - vms.length} more` : ''}: ${message}`;

/** Such as `3/10 restarted, 1 in progress, 6 to go`; empty while nothing is known. */
export function formatNumbers({ numbers }: RunOutline): string {
  if (numbers === null) return '';
  const { done, of, doneAs, others } = numbers;
  return [`${done}/${of} ${doneAs}`, ...others].join(', ');
}

/** `failed`: how many are not named. */
export const formatMore = (failed: number): string => `${failed} more ${failed === 1 ? 'VM' : 'VMs'} failed`;

/** Why VMs are not done that are none of the failed and excluded ones. Empty if none are. */
export function formatUndone({ aborted, skipped, full }: RunProgress, outline: RunOutline): string {
  const { open, isOver, isTripped, maxFailures } = outline;
  if (open === 0 || !isOver) return '';
  return `${open === 1 ? '1 VM is' : `${open} VMs are`} not done: ${reason()}`;

  function reason(): string {
    if (aborted !== null) return formatRequest('the run was aborted', aborted);
    if (isTripped) return `too many have failed (--max-failures ${maxFailures})`;
    const deferred = skipped
      .filter(({ isExcluded }) => !isExcluded)
      .map((one) => `${formatNames(one.vms)}: ${one.message}`);
    return [...deferred, ...(full.length === 0 ? [] : [full.join(', ')])].join('; ');
  }
}

/**
 * How a run stands, below its numbers: first what a user looks for, last what does not change. `when`: a time in
 * words that begin with a space; times are left out without it.
 */
export function reportLines(
  progress: RunProgress,
  outline: RunOutline,
  when: (at: string) => string = () => '',
): ReportLine[] {
  const { failed, inProgress, skipped, full, paused, aborted } = progress;
  const { isOver, isTripped, failures, faults, about } = outline;
  const shown = failed.slice(-FAILURES_SHOWN);
  const line =
    (tone: ReportLine['tone']) =>
    (text: string): ReportLine => ({ text, tone });
  return [
    ...(paused === null || isOver ? [] : [formatRequest('paused', paused, when(paused.at))]).map(line('warning')),
    ...(aborted === null ? [] : [formatRequest('aborted', aborted, when(aborted.at))]).map(line('warning')),
    ...(isTripped && aborted === null ? [formatUndone(progress, outline)] : []).map(line('failure')),
    ...faults.map(line('warning')),
    ...shown.map((failure) => formatFailure(failure, when(failure.at ?? ''))).map(line('failure')),
    ...(failures > shown.length ? [formatMore(failures - shown.length)] : []).map(line('failure')),
    ...(inProgress.length === 0 ? [] : [`in progress: ${formatNames(inProgress)}`]).map(line('plain')),
    ...(full.length === 0 || isOver ? [] : [`the others wait: ${full.join(', ')}`]).map(line('plain')),
    ...skipped.map(formatSkipped).map(line('plain')),
    ...about.map(line('plain')),
  ].filter(({ text }) => text !== '');
}
