import { keptByNumber } from '../disks/kept-claims.ts';
import { correctionIn } from '../drift/members.ts';
import { membershipChangeOf } from '../membership/change.ts';
import { planMembership, type MembershipPlan } from '../membership/membership-request.ts';
import { isRestoring } from '../membership/restore.ts';
import type { Returned } from '../membership/returned.ts';
import { reservedNames, type ReservedNames } from '../rollout/reserved-names.ts';
import type { RolloutInput } from '../rollout/state/context.ts';
import { splitBatches, type SplitBatches } from '../rollout/state/queue.ts';
import { promotedAhead } from '../scaling/standby/standby.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../template/template.ts';
import { namedAdoptions, namedRemovals, type NamedVms } from '../views/annotations/named-vms.ts';
import type { PoolPlanInput, PoolSnapshot } from './plan-input.ts';

/**
 * What all parts of a pool's plan share: what it is made from, and what follows from that alone. VMs that are being
 * promoted count as replicas, and batches have only the VMs that they have started on: the others are free.
 */
export interface PoolContext
  extends
    Omit<PoolPlanInput, 'batches' | 'membership'>,
    SplitBatches,
    Pick<Required<RolloutInput>, 'templateOf' | 'correction'> {
  inBatches: ReservedNames;
  removals: NamedVms;
  /** Kept disks, by the numbers of the VMs that they wait for. */
  kept: ReturnType<typeof keptByNumber>;
  /** What becomes of the request about the pool's members. */
  membership: MembershipPlan;
  /**
   * Whether the pool's members change, because a user asks for it or by a restore: until that has ended, the pool
   * begins nothing.
   */
  isChangingMembers: boolean;
}

export function contextOf(given: PoolPlanInput): PoolContext {
  const { pool, isVmNameTaken, keptClaims } = given;
  const vms = promotedAhead(given.vms, given.inProgress.creating);
  const templateOf = templatesOf(given);
  const correction = correctionIn(given, templateOf);
  const split = splitBatches(given.batches, { vms, vmiOf: given.vmiOf, hasDrift: (vm) => correction(vm) !== null });
  const isThere = new Set(vms.map(({ name }) => name));
  const membership = planMembership({ ...given, ...split });
  return {
    ...given,
    ...split,
    vms,
    templateOf,
    correction,
    inBatches: reservedNames(split.batches, vms, isVmNameTaken),
    removals: namedRemovals(pool.metadata.annotations),
    kept: keptByNumber(pool, keptClaims, (name) => isThere.has(name) || isVmNameTaken(name)),
    membership,
    isChangingMembers:
      pool.metadata.deletionTimestamp === undefined &&
      (membershipChangeOf(pool) !== null ||
        membership.steps.length > 0 ||
        isRestoring(pool) ||
        namedAdoptions(pool.metadata.annotations).fault !== null),
  };
}

/** Templates of the pool by revision, as far as they are kept. */
export function templatesOf({
  pool,
  revisions,
}: Pick<PoolSnapshot, 'pool' | 'revisions'>): (revision: string) => PoolTemplate | undefined {
  const templates = new Map(revisions.map(({ revision, template }) => [revision, template ?? undefined]));
  templates.set(revisionOf(poolTemplate(pool.spec)), poolTemplate(pool.spec));
  return (revision) => templates.get(revision);
}

/** Returns the context as if the VMs that come back were being created: no others are made in their places. */
export const withReturned = (
  { inProgress, ...context }: PoolContext,
  { replicas, standby }: Returned,
): PoolContext => ({
  ...context,
  inProgress: {
    ...inProgress,
    creating: [...inProgress.creating, ...replicas],
    standby: [...(inProgress.standby ?? []), ...standby],
  },
});
