import type { WorkflowHandle } from '@temporalio/client';
import { globMatcher } from '../../decisions/lib/glob.ts';
import { transitionIdOf } from '../../workflows/messages.ts';
import { Failure } from '../cli/failure.ts';
import { ageOf, note, print, table } from '../cli/output.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import { listRuns, type ListedRun } from '../runs/list.ts';
import { signalRun, type RunSignal } from '../runs/signal.ts';
import { wholeIdOf } from '../runs/whole-id.ts';
import type { Session } from '../session/session.ts';
import { isWorkflowNotFound } from '../session/temporal.ts';
import type { TransitionMemo } from './start.ts';

/** A transition as Temporal lists it; `-o json` prints it as is. */
export interface ListedTransition {
  id: string;
  phase: string;
  glob: string;
  /** Null: the type is cleared, so that the default applies. */
  to: string | null;
  /** Id of the transition that it undoes. */
  undoes: string | null;
  restartNow: boolean;
  /** RFC 3339. */
  startedAt: string;
  requestedBy: string;
  reason: string | null;
}

const listed = ({ id, phase, startedAt, memo }: ListedRun<TransitionMemo>): ListedTransition => {
  const {
    glob = '<unknown>',
    to = null,
    undoes = null,
    restartNow = false,
    requestedBy = '<unknown>',
    reason = null,
  } = memo;
  return { id, phase, glob, to, undoes, restartNow, startedAt, requestedBy, reason };
};

const TYPE = 'machineTypeTransition';
const readRuns = (session: Session): Promise<ListedRun<TransitionMemo>[]> => listRuns<TransitionMemo>(session, TYPE);

/** The transitions that Temporal still has, the newest first. */
export const listTransitions = async (session: Session): Promise<ListedTransition[]> =>
  (await readRuns(session)).map(listed);

export async function printTransitions(transitions: ListedTransition[], output?: DataFormat): Promise<void> {
  if (output !== undefined) return printData({ items: transitions }, output);
  if (transitions.length === 0) return note('no machine type transitions');
  const rows = transitions.map(({ id, phase, glob, to, undoes, restartNow, startedAt, requestedBy, reason }) => [
    id,
    phase,
    undoes === null ? glob : `undo of ${undoes}`,
    undoes === null ? (to ?? '<default>') : '<as before>',
    restartNow ? 'drover' : 'owners',
    ageOf(startedAt),
    requestedBy,
    reason ?? '<none>',
  ]);
  print(table(['ID', 'PHASE', 'GLOB', 'TO', 'RESTARTED BY', 'AGE', 'REQUESTED BY', 'REASON'], rows).join('\n'));
}

/**
 * Returns the whole id of a transition, given that or its last part. Without `id`, returns that of the running
 * transition or, with `orNewest` and if none runs, of the newest that Temporal has. Throws `Failure` if there is none,
 * or if several run.
 */
export async function transitionMeant(
  session: Session,
  id: string | undefined,
  { orNewest }: { orNewest: boolean },
): Promise<string> {
  if (id !== undefined) return wholeIdOf(session, id, { idOf: transitionIdOf, kind: 'machine type transition' });
  const running = await runningNow(session);
  if (running.length > 1)
    throw new Failure(`${running.length} machine type transitions run, say which: ${running.join(', ')}`);
  const meant = running[0] ?? (orNewest ? (await readRuns(session))[0]?.id : undefined);
  if (meant !== undefined) return meant;
  throw new Failure(
    orNewest
      ? 'Temporal knows of no machine type transition'
      : 'no machine type transition runs: `drover machine-types list` lists those there were',
  );
}

/** Temporal's lists lag behind: asks each workflow listed as running for its status. */
async function runningNow(session: Session): Promise<string[]> {
  const { client } = await session.temporal();
  const listed = (await listRuns(session, TYPE, { onlyRunning: true })).map(({ id }) => id);
  const statuses = await Promise.all(listed.map((id) => statusOf(client.workflow.getHandle(id))));
  return listed.filter((_, index) => statuses[index] === 'RUNNING');
}

/** Null if Temporal doesn't know it. */
const statusOf = (handle: WorkflowHandle): Promise<string | null> =>
  handle.describe().then(
    ({ status }) => status.name,
    (error: unknown) => {
      if (isWorkflowNotFound(error)) return null;
      throw error;
    },
  );

/** The part of a transition's id that its VMs carry. */
export const shortIdOf = (id: string): string => id.slice(id.lastIndexOf('/') + 1);

/** Signals a transition. Throws `Failure` if none with this id runs. */
export const signalTransition = (session: Session, id: string, signal: RunSignal, reason?: string): Promise<void> =>
  signalRun(session, id, signal, { reason, lists: 'drover machine-types list' });

/** Throws `Failure` if the transition still runs. A transition that Temporal no longer knows is over. */
export async function checkOver(session: Session, id: string): Promise<void> {
  const { client } = await session.temporal();
  const status = await statusOf(client.workflow.getHandle(id));
  if (status === 'RUNNING')
    throw new Failure(
      `${id} still runs, and would change again what is undone: \`drover machine-types abort ${id}\` ends it`,
    );
}

/**
 * Throws `Failure` if another running transition would change VMs again to which an undo gives back these types: the
 * undo would be undone at once.
 */
export async function checkNotChangedAgain(session: Session, types: Iterable<string | null>): Promise<void> {
  const running = new Set(await runningNow(session));
  const others = (await listTransitions(session)).filter(({ id }) => running.has(id));
  const again = changedAgainBy(others, types);
  if (again === null) return;
  const { id, glob } = again.by;
  throw new Failure(
    `${id} still runs, and would change ${again.type} again, which ${glob} matches: \`drover machine-types abort ${id}\` ends it`,
  );
}

/** The first of these transitions that would change one of the types; null if none would. */
export function changedAgainBy<T extends Pick<ListedTransition, 'glob' | 'undoes'>>(
  transitions: readonly T[],
  types: Iterable<string | null>,
): { by: T; type: string } | null {
  const given = [...new Set(types)].filter((type) => type !== null);
  for (const by of transitions) {
    if (by.undoes !== null) continue;
    const type = given.find(globMatcher(by.glob));
    if (type !== undefined) return { by, type };
  }
  return null;
}
