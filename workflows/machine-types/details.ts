import { inlineCode, escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { TransitionProgress } from '../../decisions/machine-types/transition.ts';

const FAILURES_SHOWN = 20;
const RESULTS_SHOWN = 20;

/** Returns the Markdown that the Web UI shows for a transition. Failures come first, since the UI cuts the end off. */
export function transitionDetails(progress: TransitionProgress): string {
  const {
    phase,
    transition,
    results,
    counts,
    patched,
    restarted,
    failed,
    failures,
    inProgress,
    skipped,
    full,
    maxRestarts,
    paused,
    aborted,
  } = progress;
  const { scope, to, restartNow, requestedBy, reason } = transition;
  const { toPatch, toRestart, waiting, inPools, deferred, restarting, excluded, done } = counts;
  const undone = toPatch + toRestart + waiting + inPools + deferred;
  const what =
    scope.undoes === null
      ? `machine types like ${inlineCode(scope.glob)}, to ${to ?? "the cluster's default"}`
      : `undoes ${scope.undoes}`;
  return [
    `**${phase}**: ${what}; ${patched} VMs changed and ${restarted} restarted by drover`,
    `| to change | to restart | restarting | ${restartNow ? 'wait until they run' : 'wait for a restart'} | in pools | deferred | excluded | done |` +
      `\n|---|---|---|---|---|---|---|---|\n| ${[toPatch, toRestart, restarting, waiting, inPools, deferred, excluded, done].join(' | ')} |`,
    `Asked for by ${escapeMarkdown(requestedBy)}${because(reason)}; ${restartNow ? `restarts, ${maxRestarts} at a time` : 'restarts are left to the owners'}`,
    paused === null ? '' : `Paused by ${escapeMarkdown(paused.by)}${because(paused.why)}`,
    aborted === null ? '' : `Aborted by ${escapeMarkdown(aborted.by)}${because(aborted.why)}`,
    phase === 'Failed' && undone > 0
      ? `Ended early, with ${undone} VMs not done: too many have failed (at most ${transition.maxFailures} restarts may)`
      : '',
    ...failed.slice(-FAILURES_SHOWN).map(({ vm, why }) => `- failed: ${vm}: ${escapeMarkdown(why)}`),
    failures <= FAILURES_SHOWN ? '' : `${failures} failures in all`,
    inProgress.length === 0 ? '' : `In progress: ${formatNames(inProgress)}`,
    full.length === 0 ? '' : `The others wait: ${escapeMarkdown(full.join(', '))}`,
    ...skipped.map(
      ({ why, isExcluded, count, vms }) =>
        `- ${isExcluded ? 'excluded' : 'deferred'}: ${formatNames(vms)}${andMore(count - vms.length)}: ${escapeMarkdown(why)}`,
    ),
    ...results
      .slice(0, RESULTS_SHOWN)
      .map(({ from, to, vms, fault }) => `- ${from} becomes ${to} (${vms} VMs)${because(fault)}`),
    results.length <= RESULTS_SHOWN ? '' : `${results.length} kinds of VMs in all`,
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}

const andMore = (count: number): string => (count === 0 ? '' : ` and ${count} more`);
const because = (why: string | null): string => (why === null ? '' : `: ${escapeMarkdown(why)}`);

/** What activities do, for Temporal's Web UI. */
export const PREFLIGHT = { summary: 'find the VMs in scope, and try the change in a dry run' };
export const CHECK = { summary: 'try the change of types that were not seen before, in a dry run' };

/** What a transition waits for. */
export function awaitWords({ restarting, toRestart, waiting, inPools, deferred }: TransitionProgress['counts']): {
  summary: string;
} {
  const parts = [
    [restarting, 'to come back'],
    [toRestart, 'to be restarted'],
    [waiting, 'to be restarted by their owners'],
    [inPools, 'to be updated by their pools'],
    [deferred, 'that must not be disrupted now'],
  ] as const;
  const words = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return { summary: summary(words.length === 0 ? 'look for VMs to change' : `wait for VMs: ${words.join(', ')}`) };
}
