import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { inlineCode, escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { MachineTypeTransitionInput } from '../../workflows/machine-types/machine-type-transition.ts';
import { taskQueueOf, transitionIdOf } from '../../workflows/messages.ts';
import { DroverCluster, DroverPhase } from '../../workflows/search-attributes.ts';
import { note } from '../cli/output.ts';
import type { RunMemo } from '../runs/list.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import { formatAim, because } from './format.ts';

type Started = Required<Omit<MachineTypeTransitionInput, 'carried'>>;

/** What lists show of a transition without querying its workflow. */
export interface TransitionMemo extends RunMemo {
  glob: string;
  to: string | null;
  restartNow: boolean;
  /** Id of the transition that it undoes. */
  undoes: string | null;
}

/**
 * Starts the transition's workflow, which goes on whether or not it is watched. Throws `Failure` if Temporal is not set
 * up.
 */
export async function startTransition(
  session: Session,
  { transition, minVersions }: Pick<Started, 'transition' | 'minVersions'>,
): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  await ensureSameCluster(session);
  const { cluster } = session;
  const { scope, to, restartNow, requestedBy, reason } = transition;
  const memo: TransitionMemo = {
    requestedBy,
    reason,
    begunAt: new Date().toISOString(),
    glob: scope.glob,
    to,
    restartNow,
    undoes: scope.undoes,
  };
  const id = randomBytes(4).toString('hex');
  const input: Started = { ref: { cluster, id }, transition, minVersions };
  const workflowId = transitionIdOf(cluster, id);
  const stopped = (): void =>
    note(`\n${workflowId} may have begun: \`drover machine-types status ${workflowId}\` shows it`);
  process.prependOnceListener('SIGINT', stopped);
  const starting = client.workflow.start('machineTypeTransition', {
    workflowId,
    taskQueue: taskQueueOf(cluster),
    args: [input],
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: cluster },
      { key: DroverPhase, value: 'Checking' },
    ]),
    memo,
    // The Web UI renders this as Markdown.
    staticSummary: summary(
      `Machine types: ${formatAim(transition, inlineCode)}; requested by ${escapeMarkdown(requestedBy)}${because(reason && escapeMarkdown(reason))}`,
    ),
  });
  return starting
    .catch((error: unknown) => Promise.reject(aboutSetup(error) as Error))
    .finally(() => process.off('SIGINT', stopped));
}
