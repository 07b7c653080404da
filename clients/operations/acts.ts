import type { Act } from '../../decisions/history/act.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { operationIdOf } from '../../workflows/lib/messages.ts';
import { printNote } from '../cli/print.ts';
import { actsOfRunInCluster } from '../history/from-cluster.ts';
import { actsOfWorkflow } from '../history/read.ts';
import type { Session } from '../session/session.ts';
import { TemporalUnreachable } from '../session/temporal.ts';
import { workersIn } from '../session/workers.ts';

/**
 * Returns what an operation has done to VMs, the oldest first: from Temporal or, if it does not answer, from what the
 * VMs have on record and the Events on them, which the API server keeps for an hour by default. `warn`: called with a
 * sentence if so.
 */
export async function actsOfOperation(
  session: Session,
  operation: StoredOperation,
  warn: (sentence: string) => void = printNote,
): Promise<Act[]> {
  const workflowId = await workflowIdOf(session, operation.metadata);
  try {
    return await actsOfWorkflow(session, workflowId);
  } catch (error) {
    if (!(error instanceof TemporalUnreachable)) throw error;
    warn(`${error.message}; this is what the VMs and Events on them show`);
    return actsOfRunInCluster(await session.kube(), operation, workflowId);
  }
}

/** Returns the id of the workflow that carries the operation out. */
export async function workflowIdOf(session: Session, metadata: StoredOperation['metadata']): Promise<string> {
  const { namespace } = metadata;
  const cluster = namespace === undefined ? session.cluster : await workersIn(session, namespace);
  return operationIdOf({ cluster, ...metadata });
}
