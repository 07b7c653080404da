import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { countOf, type IntOrPercent } from '../../api/int-or-percent.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { restartIdOf, taskQueueOf } from '../../workflows/messages.ts';
import type { restartVms, RestartVmsInput } from '../../workflows/restarts/restart-vms.ts';
import { DroverCluster, DroverPhase } from '../../workflows/search-attributes.ts';
import type { RunMemo } from '../runs/list.ts';
import { askedBy } from '../session/asked-by.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import type { ChosenVms } from './choose.ts';

export interface RestartOptions {
  maxUnavailable: IntOrPercent;
  maxFailures: number;
  deadlineMs: number;
  reason: string | null;
}

/** How many of the chosen VMs may be not ready at once; at least one. */
export const budgetOf = ({ vms }: ChosenVms, maxUnavailable: IntOrPercent): number =>
  countOf(maxUnavailable, vms.length, 1);

/** What lists show of a restart without querying its workflow. */
export interface RestartMemo extends RunMemo {
  vms: number;
}

/** Starts the workflow that restarts the VMs, which goes on whether or not it is watched. */
export async function startRestart(
  session: Session,
  chosen: ChosenVms,
  options: RestartOptions,
): Promise<WorkflowHandle<typeof restartVms>> {
  const { maxUnavailable, maxFailures, deadlineMs, reason } = options;
  const { client } = await session.temporal();
  await ensureSameCluster(session);
  const { cluster } = session;
  const memo: RestartMemo = {
    askedBy: await askedBy(() => session.kube()),
    reason,
    begunAt: new Date().toISOString(),
    vms: chosen.vms.length,
  };
  const most = budgetOf(chosen, maxUnavailable);
  const input: RestartVmsInput = {
    chosen: chosen.vmis,
    maxUnavailable: most,
    maxFailures,
    deadlineMs,
    askedBy: memo.askedBy,
    reason,
  };
  const starting = client.workflow.start<typeof restartVms>('restartVms', {
    workflowId: restartIdOf(cluster, randomBytes(4).toString('hex')),
    taskQueue: taskQueueOf(cluster),
    args: [input],
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: cluster },
      { key: DroverPhase, value: 'Restarting' },
    ]),
    memo,
    staticSummary: summary(
      `Restart of ${memo.vms} VMs, asked for by ${memo.askedBy}${reason === null ? '' : `: ${reason}`}`,
    ),
  });
  return starting.catch((error: unknown) => Promise.reject(aboutSetup(error) as Error));
}
