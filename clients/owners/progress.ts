import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Stored } from '../../api/objects.ts';
import type { ReplicaSetProgress } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import type { Owner } from '../cli/owner.ts';
import type { Session } from '../session/session.ts';
import { GrpcCode, grpcCodeOf, isWorkflowNotFound } from '../session/temporal.ts';
import { workersIn, missingWorkers } from '../session/workers.ts';

/** The progress that workflows of pools and of replica sets report. */
export type OwnerProgress = ReplicaSetProgress;

/** The answer of a workflow, or why it is unknown. */
export type Progress =
  | { known: true; progress: OwnerProgress }
  /** `hasNoWorkflow`: Temporal answered that no workflow manages the object. */
  | { known: false; message: string; hasNoWorkflow?: true };

const DEADLINE_MS = 3_000;

/** Returns the id of the workflow that manages the object. */
export async function workflowIdOf(session: Session, kind: OwnerKind, { metadata }: Stored<Owner>): Promise<string> {
  const { namespace = '', name } = metadata;
  return kind.workflowId({ cluster: await workersIn(session, namespace), namespace, name });
}

/** Asks the object's workflow what is in progress. Never throws: an object can be looked at without Temporal. */
export async function readProgress(session: Session, kind: OwnerKind, owner: Stored<Owner>): Promise<Progress> {
  try {
    const { client, connection } = await session.temporal();
    const handle = client.workflow.getHandle(await workflowIdOf(session, kind, owner));
    const query = async (): Promise<Progress> => {
      // A workflow that has ended still answers queries.
      const described = await handle.describe();
      const unmanagedBy = whyNotManaged(described);
      if (unmanagedBy === null) return { known: true, progress: await handle.query<OwnerProgress>('progress') };
      const { isOpen, text } = unmanagedBy;
      return isOpen ? { known: false, message: text } : unmanaged(kind, owner, text);
    };
    return await session.untilAnswered(connection.withDeadline(Date.now() + DEADLINE_MS, query));
  } catch (error) {
    if (isWorkflowNotFound(error)) return unmanaged(kind, owner);
    return { known: false, message: await whyUnanswered(session, owner, error) };
  }
}

const noWorkflow: Progress = { known: false, message: 'no workflow manages it yet', hasNoWorkflow: true };

/** `how`: how the last workflow ended. */
function unmanaged(kind: OwnerKind, owner: Stored<Owner>, how?: string): Progress {
  if (!isAccepted(kind, owner)) return noWorkflow;
  const last = how === undefined ? '' : ` (the last one ${how})`;
  return { known: false, message: `no workflow manages it now${last}; a worker starts one within seconds` };
}

/** Temporal tries a workflow task again forever; more than twice does not come from a worker that died. */
const TASK_TRIES = 3;

/** Why the workflow does not manage its object; null if it does. */
function whyNotManaged({ status, raw }: WorkflowExecutionDescription): { isOpen: boolean; text: string } | null {
  if (status.name !== 'RUNNING')
    return { isOpen: false, text: `was ended: ${status.name.toLowerCase().replace('_', ' ')}` };
  const tries = raw.pendingWorkflowTask?.attempt ?? 1;
  if (tries <= TASK_TRIES) return null;
  const text = `its workflow is stuck: a task has failed ${tries - 1} times, and Temporal's Web UI says why`;
  return { isOpen: true, text };
}

/** False if the answer dates from before the object was taken up, and so says nothing about it as it is now. */
export const isCurrent = (answer: Progress, kind: OwnerKind, owner: Stored<Owner>): boolean =>
  answer.known || answer.hasNoWorkflow !== true || !isAccepted(kind, owner);

const isAccepted = ({ finalizer }: OwnerKind, { metadata, status }: Stored<Owner>): boolean =>
  status !== undefined || metadata.finalizers?.includes(finalizer) === true;

async function whyUnanswered(session: Session, { metadata }: Stored<Owner>, error: unknown): Promise<string> {
  if (grpcCodeOf(error) !== GrpcCode.DEADLINE_EXCEEDED) return sentenceOf(error);
  return (await missingWorkers(session, metadata.namespace)) ?? 'its workflow does not answer';
}

/** Returns the URL of a workflow in Temporal's Web UI; undefined if the address of the UI is unknown. */
export async function workflowUrl(session: Session, workflowId: string): Promise<string | undefined> {
  const ui = await session.temporalUi();
  if (ui === undefined) return undefined;
  const { namespace } = await session.temporal();
  return `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}
