import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { summary } from '../../decisions/lib/summary.ts';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import { taskQueueOf } from '../../workflows/lib/messages.ts';
import { DroverCluster, DroverPhase } from '../../workflows/lib/search-attributes.ts';
import { note } from '../cli/output.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import type { RunKind, RunMemo } from './kind.ts';

interface Start<Listed extends object> {
  /** The workflow's input; `id` is the last part of its id. */
  input: (id: string) => object;
  memo: Omit<RunMemo, 'begunAt'> & Listed;
  phase: string;
  /** Markdown for the Web UI. */
  words: string;
}

/**
 * Starts a run's workflow, which goes on whether or not it is watched. Throws `Failure` if Temporal is not set up, or
 * is another cluster's.
 */
export async function startRun<P extends RunProgress, Listed extends object>(
  session: Session,
  { workflowType, idOf, command }: RunKind<P, Listed>,
  { input, memo, phase, words }: Start<Listed>,
): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  await ensureSameCluster(session);
  const { cluster } = session;
  const id = randomBytes(4).toString('hex');
  const workflowId = idOf(cluster, id);
  const stopped = (): void => note(`\n${workflowId} may have begun: \`${command} status ${workflowId}\` shows it`);
  process.prependOnceListener('SIGINT', stopped);
  const starting = client.workflow.start(workflowType, {
    workflowId,
    taskQueue: taskQueueOf(cluster),
    args: [input(id)],
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: cluster },
      { key: DroverPhase, value: phase },
    ]),
    memo: { ...memo, begunAt: new Date().toISOString() },
    staticSummary: summary(words),
  });
  return starting
    .catch((error: unknown) => Promise.reject(aboutSetup(error) as Error))
    .finally(() => process.off('SIGINT', stopped));
}
