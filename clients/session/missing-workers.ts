import { CLAIM_NAME } from '../../api/claims/claim.ts';
import { taskQueueOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import { pollersOf } from './pollers.ts';
import type { Session } from './session.ts';
import { workersIn } from './workers-in.ts';

/**
 * Returns one sentence if no worker serves the namespace, by default that of the command, or if that is unknown;
 * otherwise undefined.
 */
export async function missingWorkers(session: Session, namespace?: string): Promise<string | undefined> {
  try {
    const workers = await workersIn(session, namespace);
    if ((await pollersOf(session, workers)).length > 0) return undefined;
    const none = `no drover worker polls the task queue ${taskQueueOf(workers)}: nothing happens until one does`;
    if (workers === session.cluster) return `${none}; \`drover worker\` starts one`;
    return `${none}, since the Lease ${CLAIM_NAME} leaves the namespace to these workers`;
  } catch (error) {
    return `whether a drover worker runs is not known: ${sentenceOf(error)}`;
  }
}
