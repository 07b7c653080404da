import type { Act } from '../../decisions/history/act.ts';
import type { Revision } from '../pool/revisions.ts';

/** Who asked for a template, and why, as `drover rollout history` shows it. */
export type Origin = Pick<Revision, 'hash' | 'requestedBy' | 'changeCause'>;

/**
 * Adds to a pool's updates, oldest first, why they were made according to the revisions, and who asked if the update
 * does not say so. A revision records only its newest rollout. Its earlier rollouts, before a rollout of another
 * revision, stay as they are.
 */
export function withOrigins(actions: readonly Act[], revisions: readonly Origin[]): Act[] {
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

/** VM creation doesn't count: drover creates a VM because one is missing, whatever the origin of the revision. */
const isUpdate = (action: Act): action is Act & { to: string } => action.to !== null && action.action !== 'create';

/** Nobody asked for what drover rolls back by itself. */
function withOrigin(action: Act, origin: Origin | undefined): Act {
  if (origin === undefined || action.requestedBy === 'drover') return action;
  const reason = [action.reason, origin.changeCause].filter((part) => part !== null).join(': ');
  return { ...action, requestedBy: action.requestedBy ?? origin.requestedBy, reason: reason === '' ? null : reason };
}
