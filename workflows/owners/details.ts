import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import type { FailureBackoff } from './failure-backoff.ts';
/** Returns what the details of pools and replica sets end with; the first line is about the next try, or empty. */
export function activityDetails(
  doing: readonly string[],
  { state: { recentErrors }, retryAt }: Pick<FailureBackoff, 'state' | 'retryAt'>,
  byState: Record<string, number>,
  members: 'VMs' | 'VMIs' = 'VMs',
): string[] {
  const states = Object.entries(byState).map(([state, count]) => `${count} ${state}`);
  return [
    retryAt === null ? '' : `Next try at ${new Date(retryAt).toISOString()}`,
    ...recentErrors.toReversed().map(({ time, reason, message }) => `- ${time} ${reason}: ${escapeMarkdown(message)}`),
    ...doing.map((reason) => `- ${reason}`),
    states.length === 0 ? '' : `${members}: ${states.join(', ')}`,
  ];
}
