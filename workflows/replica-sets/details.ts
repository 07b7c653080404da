import type { PlannedSet } from '../../activities/replica-sets/replica-set-request.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { startFailure } from '../../decisions/replica-sets/start-backoff.ts';
import { activityDetails } from '../owners/details.ts';
import type { FailureBackoff } from '../owners/failure-backoff.ts';

/** Returns the Markdown that the Web UI shows for a replica set. */
export function replicaSetDetails(
  planned: PlannedSet,
  doing: readonly string[],
  failures: Pick<FailureBackoff, 'state' | 'retryAt'>,
): string {
  if (planned.gone) return 'The set is deleted.';
  const { counts, phase, uncertain, starts, key } = planned;
  const members = key.kind === 'VirtualMachineReplicaSet' ? 'VMs' : 'VMIs';
  return [
    `**${phase}**: ${counts.wanted} wanted, ${counts.present} present, ${counts.ready} ready`,
    escapeMarkdown(startFailure(starts)?.message ?? ''),
    uncertain.length === 0 ? '' : `Not known whether they were made: ${uncertain.slice(0, MAX_NAMES).join(', ')}`,
    ...activityDetails(doing, failures, counts.byState, members),
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}

const MAX_NAMES = 20;
