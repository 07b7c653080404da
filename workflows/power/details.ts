import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { ACTION_LABELS } from '../../decisions/power/action.ts';
import type { PowerProgress } from '../messages.ts';

const FAILURES_SHOWN = 20;

/** Returns the Markdown that the Web UI shows for a run. Failures come first, since the UI cuts the end off. */
export function powerDetails(progress: PowerProgress): string {
  const {
    action,
    phase,
    chosen,
    atOnce,
    requestedBy,
    reason,
    done,
    failed,
    open,
    inProgress,
    skipped,
    full,
    paused,
    aborted,
  } = progress;
  return [
    `**${phase}**: ${done.length} of ${chosen} VMs ${ACTION_LABELS[action].done.toLowerCase()}, ${inProgress.length} in progress, ${open} to go, ${atOnce} at a time`,
    `Asked for by ${escapeMarkdown(requestedBy)}${because(reason)}`,
    paused === null ? '' : `Paused by ${escapeMarkdown(paused.by)}${because(paused.why)}`,
    aborted === null ? '' : `Aborted by ${escapeMarkdown(aborted.by)}${because(aborted.why)}`,
    ...failed
      .slice(-FAILURES_SHOWN)
      .map(
        ({ vm, why, wasDown }) =>
          `- failed: ${vm}${wasDown ? ', which was not ready before' : ''}: ${escapeMarkdown(why)}`,
      ),
    inProgress.length === 0 ? '' : `In progress: ${formatNames(inProgress)}`,
    full.length === 0 ? '' : `The others wait for room: ${escapeMarkdown(full.join(', '))}`,
    ...skipped.map(
      ({ why, count, vms }) => `- skipped: ${formatNames(vms)}${andMore(count - vms.length)}: ${escapeMarkdown(why)}`,
    ),
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}

const andMore = (count: number): string => (count === 0 ? '' : ` and ${count} more`);
const because = (why: string | null): string => (why === null ? '' : `: ${escapeMarkdown(why)}`);
