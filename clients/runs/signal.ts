import { abort, pause, resume } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { note } from '../cli/output.ts';
import { signalWorkflow } from '../pool/ask-pool.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import { requestedBy } from '../session/requester.ts';
import type { Session } from '../session/session.ts';

const SIGNALS = { pause, resume, abort };
export type RunSignal = keyof typeof SIGNALS;

/**
 * Signals a workflow that a person started. Throws `Failure` if none with this id runs; `lists` is the command that
 * lists them.
 */
export async function signalRun(
  session: Session,
  id: string,
  signal: RunSignal,
  { reason, lists }: { reason?: string | undefined; lists: string },
): Promise<void> {
  const asking = { by: await requestedBy(() => session.kube()), ...(reason === undefined ? {} : { why: reason }) };
  const isThere = await signalWorkflow(session, id, (handle) => handle.signal(SIGNALS[signal], asking), false);
  if (!isThere) throw new Failure(`no ${id} runs: \`${lists}\` lists those there are`);
  // Without a worker, the workflow receives the signal only once there is one.
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}
