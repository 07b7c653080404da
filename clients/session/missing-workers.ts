import { taskQueueOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import { pollersOf } from './pollers.ts';
import type { Session } from './session.ts';

/** Returns one sentence if no worker serves the cluster, or if that is unknown; otherwise undefined. */
export async function missingWorkers(session: Session): Promise<string | undefined> {
  try {
    if ((await pollersOf(session)).length > 0) return undefined;
    return `no drover worker polls the task queue ${taskQueueOf(session.cluster)}: nothing happens until one does; \`drover worker\` starts one`;
  } catch (error) {
    return `whether a drover worker runs is not known: ${sentenceOf(error)}`;
  }
}
