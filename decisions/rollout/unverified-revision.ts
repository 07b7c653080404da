import type { RolloutStatus } from '../../api/pool/pool.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { isReady } from '../health/availability.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';

/**
 * Returns the newest revision until one of its VMs has become ready, then null: until then the rollout judges its
 * failures, not healing.
 */
export function unverifiedRevision(input: PlanInput): string | null {
  const { pool, rollout } = input;
  if (updateRules(pool.spec.updateStrategy).kind !== 'proactive') return null;
  const newest = revisionOf(poolTemplate(pool.spec));
  const { currentRevision = newest } = pool.status ?? {};
  if (
    newest === currentRevision ||
    isOver(rollout, newest) ||
    (rollout?.revision === newest && rollout.firstAvailableAt !== undefined)
  )
    return null;
  return hasCome(input, newest) ? null : newest;
}

const hasCome = ({ vms, vmiOf }: PlanInput, revision: string): boolean =>
  vms.some((vm) => vm.revision === revision && vmiOf(vm)?.revision === revision && isReady(vm, vmiOf(vm)));

/** Records that a VM of the revision became ready: if VMs of that revision die later, the revision is not to blame. */
export function withFirstAvailable(input: PlanInput, state: RolloutStatus): RolloutStatus {
  const { revision, firstAvailableAt } = state;
  return firstAvailableAt === undefined && revision !== input.pool.status?.currentRevision && hasCome(input, revision)
    ? { ...state, firstAvailableAt: new Date(input.now).toISOString() }
    : state;
}

/** Whether the rollout of this revision starts no more batches on its own. */
export const isOver = (rollout: RolloutStatus | null, revision: string): boolean =>
  rollout?.halted !== undefined || (rollout?.completedAt !== undefined && rollout.revision === revision);
