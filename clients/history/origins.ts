import type { Revision } from '../rollout/revisions/revisions.ts';
import type { Action } from './actions.ts';

/** Who asked for a template, and why, as `drover rollout history` tells it. */
export type Origin = Pick<Revision, 'hash' | 'askedBy' | 'changeCause'>;

/**
 * The actions of a pool, given the oldest first, with what its revisions tell of updates: why, and who asked if the
 * update does not say so itself. A revision tells that of its newest rollout alone: what was done before another one
 * came between stays as it is.
 */
export function withOrigins(actions: readonly Action[], revisions: readonly Origin[]): Action[] {
  const origins = new Map(revisions.map((revision) => [revision.hash, revision]));
  let newer: string | null = null;
  const newestFirst = actions.toReversed().map((action) => {
    if (!isUpdate(action)) return action;
    if (newer !== null && newer !== action.to) origins.delete(newer);
    newer = action.to;
    return withOrigin(action, origins.get(action.to));
  });
  return newestFirst.toReversed();
}

/** A VM is made of a revision because one is missing, whoever asked for the revision. */
const isUpdate = (action: Action): action is Action & { to: string } =>
  action.to !== null && action.action !== 'create';

/** What drover takes back by itself, nobody asked for. */
function withOrigin(action: Action, origin: Origin | undefined): Action {
  if (origin === undefined || action.askedBy === 'drover') return action;
  const reason = [action.reason, origin.changeCause].filter((words) => words !== null).join(': ');
  return { ...action, askedBy: action.askedBy ?? origin.askedBy, reason: reason === '' ? null : reason };
}
