import type { Planned } from '../activities/pool.ts';
import type { SetbacksState } from './setbacks.ts';

/** What the Web UI shows of a pool in this moment, as Markdown. */
export function poolDetails(planned: Planned, doing: readonly string[], { troubles, retryAt }: SetbacksState): string {
  if (planned.gone) return 'The pool is gone.';
  const { counts, phase } = planned;
  const states = Object.entries(counts.byState).map(([state, count]) => `${count} ${state}`);
  return [
    `**${phase}**: ${counts.wanted} wanted, ${counts.present} present, ${counts.ready} ready, ${counts.updated} of the newest revision`,
    states.length === 0 ? '' : `VMs: ${states.join(', ')}`,
    ...doing.map((reason) => `- ${reason}`),
    retryAt === null ? '' : `Next try at ${new Date(retryAt).toISOString()}`,
    ...troubles.map(({ time, reason, message }) => `- ${time} ${reason}: ${message}`),
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}
