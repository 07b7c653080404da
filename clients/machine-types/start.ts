import { randomBytes } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { Transition } from '../../decisions/machine-types/transition.ts';
import { taskQueueOf, transitionIdOf } from '../../workflows/messages.ts';
import { DroverCluster, DroverPhase } from '../../workflows/search-attributes.ts';
import type { Session } from '../session.ts';
import { aimInWords, because } from './words.ts';

/** What a list of transitions shows of one, without asking its workflow. */
export interface TransitionMemo extends Record<string, unknown> {
  askedBy: string;
  reason: string | null;
  glob: string;
  to: string | null;
  restartNow: boolean;
  /** Id of the transition that it undoes. */
  undoes: string | null;
}

/** Starts the workflow that does it. It goes on whoever watches it. */
export async function startTransition(session: Session, transition: Transition): Promise<WorkflowHandle> {
  const { client } = await session.temporal();
  const { cluster } = session;
  const { scope, to, restartNow, askedBy, reason } = transition;
  const memo: TransitionMemo = { askedBy, reason, glob: scope.glob, to, restartNow, undoes: scope.undoes };
  const id = randomBytes(4).toString('hex');
  return client.workflow.start('machineTypeTransition', {
    workflowId: transitionIdOf(cluster, id),
    taskQueue: taskQueueOf(cluster),
    args: [{ ref: { cluster, id }, transition }],
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: cluster },
      { key: DroverPhase, value: 'Checking' },
    ]),
    memo,
    staticSummary: `Machine types: ${aimInWords(transition)}; asked for by ${askedBy}${because(reason)}`.slice(0, 180),
  });
}
