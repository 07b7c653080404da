import { isRestoring, restoreOf, waitingFor, type Restore } from '../membership/restore.ts';
import type { UntimedCondition } from '../owners/conditions.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import type { StoredSet } from '../views/owner.ts';
import type { Members, MembersInput } from './members.ts';

type Given = Pick<MembersInput, 'set' | 'replicas' | 'counting'> & Pick<PlanInput, 'now' | 'backoffs'>;

/** Returns how far the restore of a set has come. Its members come back by its selector. */
export function setRestore({ set, replicas, ...given }: Given, { orphans, active }: Members): Restore {
  return restoreOf(set, {
    ...given,
    members: [...replicas, ...orphans],
    isComplete: active.length >= set.spec.replicas,
  });
}

/** `Restoring`: members are still awaited after a restore. */
export function setRestoring(
  set: StoredSet,
  what: 'VMs' | 'VMIs',
  { active }: Members,
  { until }: Restore,
): UntimedCondition<'Restoring'>[] {
  if (until === null || !isRestoring(set)) return [];
  const kind = what === 'VMs' ? 'vmrs' : 'dvmirs';
  const counts = { there: active.length, replicas: set.spec.replicas, what, until };
  const message = waitingFor(`${kind} ${set.metadata.name}`, counts);
  return [{ type: 'Restoring', status: 'True', reason: 'WaitingForMembers', message }];
}
