import type { WorkflowHandle } from '@temporalio/client';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import type { RunKind } from './kind.ts';
import { listRuns } from './list.ts';

/**
 * Returns the whole id of a run, given that or its last part. Without `id`, returns that of the run in progress or,
 * with `orNewest` and if none is, of the newest that Temporal has. Throws `Failure` if there is none, or if several
 * are in progress.
 */
export async function runMeant<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
  id: string | undefined,
  { orNewest }: { orNewest: boolean },
): Promise<string> {
  const { noun, command } = kind;
  if (id !== undefined) return wholeIdOf(session, kind, id);
  const running = await runningNow(session, kind);
  if (running.length > 1) throw new Failure(`${running.length} ${noun}s run, say which: ${running.join(', ')}`);
  const meant = running[0] ?? (orNewest ? (await listRuns(session, kind))[0]?.id : undefined);
  if (meant !== undefined) return meant;
  throw new Failure(
    orNewest ? `Temporal knows of no ${noun}` : `no ${noun} runs: \`${command} list\` lists those there were`,
  );
}

/** Throws `UsageError` for any other workflow's id: a pool's workflow would understand a `pause`, too. */
function wholeIdOf(
  { cluster }: Pick<Session, 'cluster'>,
  { idOf, noun }: Pick<RunKind<never, never>, 'idOf' | 'noun'>,
  id: string,
): string {
  if (id === '') throw new UsageError(`which ${noun}? "" is not an id`);
  if (!id.includes('/')) return idOf(cluster, id);
  const own = idOf(cluster, '');
  const last = id.startsWith(own) ? id.slice(own.length) : '';
  if (last !== '' && !last.includes('/')) return id;
  const isOfKind = !id.startsWith(own) && id.startsWith(own.slice(0, own.indexOf('/') + 1));
  throw new UsageError(
    isOfKind ? `${id} is of another cluster than ${cluster}: give that one with --cluster` : `${id} is not a ${noun}`,
  );
}

/** Temporal's lists lag behind: asks each workflow that is listed as running whether it does. */
export async function runningNow<P extends RunProgress, Listed extends object>(
  session: Session,
  kind: RunKind<P, Listed>,
): Promise<string[]> {
  const { client } = await session.temporal();
  const listed = (await listRuns(session, kind, { onlyRunning: true })).map(({ id }) => id);
  const runs = await Promise.all(listed.map((id) => isRunning(client.workflow.getHandle(id))));
  return listed.filter((_, index) => runs[index]);
}

/** False if Temporal doesn't know it. */
export const isRunning = (handle: WorkflowHandle): Promise<boolean> =>
  handle.describe().then(
    ({ status }) => status.name === 'RUNNING',
    (error: unknown) => {
      if (isWorkflowNotFound(error)) return false;
      throw error;
    },
  );
