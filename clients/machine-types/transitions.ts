import { globMatcher } from '../../decisions/lib/glob.ts';
import { Failure } from '../cli/failure.ts';
import { listRuns } from '../runs/list.ts';
import { isRunning, runningNow } from '../runs/meant.ts';
import type { Session } from '../session/session.ts';
import { Transitions, type ListedTransition } from './run-kind.ts';

/** The part of a transition's id that its VMs carry. */
export const shortIdOf = (id: string): string => id.slice(id.lastIndexOf('/') + 1);

/** Throws `Failure` if the transition still runs. A transition that Temporal no longer knows is over. */
export async function checkOver(session: Session, id: string): Promise<void> {
  const { client } = await session.temporal();
  if (await isRunning(client.workflow.getHandle(id)))
    throw new Failure(
      `${id} still runs, and would change again what is undone: \`drover machine-types abort ${id}\` ends it`,
    );
}

/**
 * Throws `Failure` if another running transition would change VMs again to which an undo gives back these types: the
 * undo would be undone at once.
 */
export async function checkNotChangedAgain(session: Session, types: Iterable<string | null>): Promise<void> {
  const running = new Set(await runningNow(session, Transitions));
  const others = (await listRuns(session, Transitions)).filter(({ id }) => running.has(id));
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
