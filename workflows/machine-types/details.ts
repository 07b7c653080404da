import { summary } from '../../decisions/lib/summary.ts';
import type { TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { formatCounts } from '../../decisions/runs/report.ts';

/** What activities do, for Temporal's Web UI. */
export const PREFLIGHT = { summary: 'find the VMs in scope, and try the change in a dry run' };
export const CHECK = { summary: 'try the change of types that were not seen before, in a dry run' };

/** What a transition waits for. */
export function awaitDetails({ restarting, toRestart, waiting, inPools, deferred }: TransitionProgress['counts']): {
  summary: string;
} {
  const counts = formatCounts([
    [restarting, 'to come back'],
    [toRestart, 'to be restarted'],
    [waiting, 'to be restarted by their owners'],
    [inPools, 'to be updated by their pools'],
    [deferred, 'that must not be disrupted now'],
  ]);
  return { summary: summary(counts.length === 0 ? 'look for VMs to change' : `wait for VMs: ${counts.join(', ')}`) };
}
