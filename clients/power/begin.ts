import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { countOf, type IntOrPercent } from '../../api/lib/int-or-percent.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { powerIdOf, taskQueueOf } from '../../workflows/messages.ts';
import type { powerVms, PowerVmsInput } from '../../workflows/power/power-vms.ts';
import { DroverCluster, DroverPhase } from '../../workflows/search-attributes.ts';
import type { RunMemo } from '../runs/list.ts';
import { requestedBy } from '../session/requester.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import type { ChosenVms } from './choose.ts';

export interface RunOptions {
  action: PowerAction;
  atOnce: number;
  maxFailures: number;
  deadlineMs: number;
  reason: string | null;
}

/** How many of the chosen VMs that are at once; at least one. */
export const limitOf = ({ vms }: ChosenVms, atOnce: IntOrPercent): number =>
  Math.min(countOf(atOnce, vms.length, 1), vms.length);

/** What lists show of a run without querying its workflow. */
export interface PowerMemo extends RunMemo {
  action: PowerAction;
  vms: number;
}

/** Starts the workflow that starts, stops or restarts the VMs, which goes on whether or not it is watched. */
export async function startRun(
  session: Session,
  chosen: ChosenVms,
  options: RunOptions,
): Promise<WorkflowHandle<typeof powerVms>> {
  const { action, reason } = options;
  const { doing } = ACTION_LABELS[action];
  const { client } = await session.temporal();
  await ensureSameCluster(session);
  const { cluster } = session;
  const memo: PowerMemo = {
    action,
    requestedBy: await requestedBy(() => session.kube()),
    reason,
    begunAt: new Date().toISOString(),
    vms: chosen.vms.length,
  };
  const input: PowerVmsInput = { ...options, chosen: chosen.targets, requestedBy: memo.requestedBy };
  const starting = client.workflow.start<typeof powerVms>('powerVms', {
    workflowId: powerIdOf(cluster, randomBytes(4).toString('hex')),
    taskQueue: taskQueueOf(cluster),
    args: [input],
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: cluster },
      { key: DroverPhase, value: doing },
    ]),
    memo,
    staticSummary: summary(
      `${action} of ${memo.vms} VMs, requested by ${memo.requestedBy}${reason === null ? '' : `: ${reason}`}`,
    ),
  });
  return starting.catch((error: unknown) => Promise.reject(aboutSetup(error) as Error));
}
