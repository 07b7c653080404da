import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { Batch, BatchVm, UpdateAct, UpdateOutcome } from '../../decisions/rollout/batch.ts';

/** How many of a batch's VMs have ended so. */
export type BatchCounts = Partial<Record<UpdateOutcome['end'], number>>;

interface Shown {
  requestedBy: string | null;
  doing: string;
  waiting: readonly BatchVm[];
  outcomes: readonly UpdateOutcome[];
  counts: BatchCounts;
}

/** How many VMs are named with what has become of them. */
const NAMED = 100;

const ACTS: Record<UpdateAct, string> = {
  write: 'only write the new spec',
  live: 'update while it runs',
  migrate: 'migrate, for its pod lacks something',
  restart: 'restart',
  replace: 'replace, with its disks',
};

/** Returns the Markdown that Temporal's Web UI shows of a batch. */
export function batchDetails(batch: Batch, { requestedBy, doing, waiting, outcomes, counts }: Shown): string {
  const { Updated: updated = 0, ...others } = counts;
  const all = waiting.length + updated + Object.values(others).reduce((sum, count) => sum + count, 0);
  const told = outcomes.filter(({ end }) => end !== 'Updated').slice(-NAMED);
  const acts = [...Map.groupBy(batch.vms, ({ act }) => act)].map(
    ([act, vms]) => `- ${ACTS[act]}: ${formatNames(vms.map(({ name }) => name))}`,
  );
  return [
    `**Batch ${batch.n}** to revision **${batch.revision}**, requested by ${escapeMarkdown(requestedBy ?? 'unknown')}: ${doing}`,
    `${updated} of ${all} VMs updated`,
    waiting.length === 0 ? '' : `Still to come: ${formatNames(waiting.map(({ name }) => name))}`,
    told.map(({ vm, end, why }) => `- ${vm}: ${end}${why === undefined ? '' : `: ${escapeMarkdown(why)}`}`).join('\n'),
    `What each VM needs:\n\n${acts.join('\n')}`,
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}
