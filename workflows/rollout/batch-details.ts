import { ACT_ENDS } from '../../decisions/history/ends.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { Batch, BatchVm, UpdateAct, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { formatCounts } from '../../decisions/runs/report.ts';
import { SkippedVms } from '../../decisions/runs/skipped.ts';
import { runDetails } from '../runs/details.ts';

/** How many of a batch's VMs have ended so. */
export type BatchCounts = Partial<Record<UpdateOutcome['end'], number>>;

interface Shown {
  requestedBy: string | null;
  phase: string;
  waiting: readonly BatchVm[];
  outcomes: readonly UpdateOutcome[];
  counts: BatchCounts;
}

const ACTS: Record<UpdateAct, string> = {
  write: 'only write the new spec of',
  live: 'update while they run',
  migrate: 'migrate, since their pods lack something',
  restart: 'restart',
  replace: 'replace, with their disks',
};

/** Returns the Markdown that Temporal's Web UI shows of a batch. */
export function batchDetails(batch: Batch, { requestedBy, phase, waiting, outcomes, counts }: Shown): string {
  const all = waiting.length + Object.values(counts).reduce((sum, count) => sum + count, 0);
  const { Updated: done = 0, Failed: failures = 0 } = counts;
  const skipped = new SkippedVms();
  for (const { vm, end, message } of outcomes)
    if (end !== 'Updated' && end !== 'Failed')
      skipped.add(vm, message ?? ACT_ENDS[end].what, end === 'Gone' || end === 'Superseded');
  const failed = outcomes
    .filter(({ end }) => end === 'Failed')
    .map(({ vm, message = '', wasDown }) => ({ vm, message, ...(wasDown === true && { wasDown }) }));
  const acts = Map.groupBy(batch.vms, ({ act }) => act);
  return runDetails(
    { phase, failed, inProgress: [], skipped: skipped.all, full: [], paused: null, aborted: null },
    {
      numbers: {
        done,
        of: all,
        doneAs: 'updated',
        others: formatCounts([
          [waiting.length, 'to go'],
          [failures, 'failed'],
        ]),
      },
      end: '',
      open: waiting.length,
      isOver: false,
      isTripped: false,
      maxFailures: 0,
      failures,
      faults: [],
      about: [
        ...(waiting.length === 0 ? [] : [`to go: ${namesOf(waiting)}`]),
        `batch ${batch.n} to revision ${batch.revision}, requested by ${requestedBy ?? 'unknown'}`,
        ...[...acts].map(([act, vms]) => `${ACTS[act]}: ${namesOf(vms)}`),
      ],
    },
  );
}

const namesOf = (vms: readonly BatchVm[]): string => formatNames(vms.map(({ name }) => name));
