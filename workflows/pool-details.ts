import type { Planned } from '../activities/pool.ts';
import type { SetbacksState } from './setbacks.ts';

/** What the Web UI shows of a pool in this moment, as Markdown: what went wrong first, since it cuts the end off. */
export function poolDetails(planned: Planned, doing: readonly string[], { troubles, retryAt }: SetbacksState): string {
  if (planned.gone) return 'The pool is gone.';
  const { counts, phase } = planned;
  const states = Object.entries(counts.byState).map(([state, count]) => `${count} ${state}`);
  return [
    `**${phase}**: ${counts.wanted} wanted, ${counts.present} present, ${counts.ready} ready, ${counts.updated} of the newest revision`,
    retryAt === null ? '' : `Next try at ${new Date(retryAt).toISOString()}`,
    ...troubles.toReversed().map(({ time, reason, message }) => `- ${time} ${reason}: ${message}`),
    ...doing.map((reason) => `- ${reason}`),
    states.length === 0 ? '' : `VMs: ${states.join(', ')}`,
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}
