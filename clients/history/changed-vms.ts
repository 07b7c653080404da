import type { Client } from '@temporalio/client';
import { wideActionsOf } from './any-owner.ts';
import type { History } from './events.ts';

/**
 * Returns the VMs that a machine type transition has changed, by `namespace/name`, from Temporal's history: this
 * includes VMs deleted since.
 */
export async function changedVms(client: Client, id: string): Promise<string[]> {
  const changes = wideActionsOf(id, await runsOf(client, id)).filter(
    ({ action, end }) => action === 'machine type' && end === 'Done',
  );
  return [...new Set(changes.flatMap(({ vms }) => vms))];
}

/** Returns the histories of the workflow's runs, the oldest first: each run names the one before. */
async function runsOf(client: Client, id: string): Promise<History[]> {
  const histories: History[] = [];
  let run: string | undefined;
  do {
    const history = await client.workflow.getHandle(id, run).fetchHistory();
    histories.unshift(history);
    run = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  } while (run !== undefined);
  return histories;
}
