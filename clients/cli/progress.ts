import type { Stored } from '../../api/objects.ts';
import type { ReplicaSetProgress } from '../../workflows/messages.ts';
import type { Owner } from '../owners/objects.ts';
import type { Session } from '../session/session.ts';
import { GrpcCode, grpcCodeOf, isWorkflowNotFound } from '../session/temporal.ts';
import { sentenceOf } from './failure.ts';
import type { OwnerKind } from './kinds.ts';

/** What workflows of pools and of replica sets tell of their progress. */
export type OwnerProgress = ReplicaSetProgress;

/** The answer of a workflow, or why it is unknown. */
export type Progress =
  | { known: true; progress: OwnerProgress }
  /** `hasNoWorkflow`: Temporal answered that no workflow manages the object. */
  | { known: false; why: string; hasNoWorkflow?: true };

const DEADLINE_MS = 3_000;

/** Returns the id of the workflow that manages the object. */
export function workflowIdOf({ cluster }: Session, kind: OwnerKind, { metadata }: Stored<Owner>): string {
  const { namespace = '', name } = metadata;
  return kind.workflowId({ cluster, namespace, name });
}

/** Asks the object's workflow what is in progress. Never throws: an object can be looked at without Temporal. */
export async function readProgress(session: Session, kind: OwnerKind, owner: Stored<Owner>): Promise<Progress> {
  try {
    const { client, connection } = await session.temporal();
    const handle = client.workflow.getHandle(workflowIdOf(session, kind, owner));
    const query = handle.query.bind<typeof handle, ['progress'], [], Promise<OwnerProgress>>(handle, 'progress');
    return {
      known: true,
      progress: await session.untilAnswered(connection.withDeadline(Date.now() + DEADLINE_MS, query)),
    };
  } catch (error) {
    if (isWorkflowNotFound(error)) return isTakenUp(kind, owner) ? notLed(kind) : noWorkflow;
    return { known: false, why: whyNot(error) };
  }
}

const noWorkflow: Progress = { known: false, why: 'no workflow manages it yet', hasNoWorkflow: true };

const notLed = ({ noun }: OwnerKind): Progress => ({
  known: false,
  why: `no workflow manages it now; a worker starts one when the ${noun} changes`,
});

/** False if the answer dates from before the object was taken up, and so says nothing about it as it is now. */
export const isCurrent = (answer: Progress, kind: OwnerKind, owner: Stored<Owner>): boolean =>
  answer.known || answer.hasNoWorkflow !== true || !isTakenUp(kind, owner);

const isTakenUp = ({ finalizer }: OwnerKind, { metadata, status }: Stored<Owner>): boolean =>
  status !== undefined || metadata.finalizers?.includes(finalizer) === true;

function whyNot(error: unknown): string {
  const code = grpcCodeOf(error);
  if (code === GrpcCode.DEADLINE_EXCEEDED) return 'its workflow does not answer; is a `drover worker` running?';
  return sentenceOf(error);
}

/** Returns the URL of a workflow in Temporal's Web UI; undefined if the address of the UI is unknown. */
export async function workflowUrl(session: Session, workflowId: string): Promise<string | undefined> {
  const ui = await session.temporalUi();
  if (ui === undefined) return undefined;
  const { namespace } = await session.temporal();
  return `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}
