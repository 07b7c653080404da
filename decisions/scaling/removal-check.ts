import { ORPHAN_FINALIZER } from '../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../api/pool/pool.ts';
import { standbyRules } from '../../api/rules/pool-defaults.ts';
import { maxSurgeOf } from '../disruption-budget/unavailability.ts';
import type { RemovalCause, Member } from '../owners/steps.ts';
import { namedAmong, namedRemovals } from '../views/annotations/named-vms.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import type { MemberRole } from '../views/vm.ts';

/** Why VMs leave that were named. */
export const BY_NAME = 'its removal was requested by name';
/** Why extra VMs leave. */
export const NOT_NEEDED = 'no update needs so many extra VMs';

interface RemovalCheckInput {
  cause: RemovalCause;
  /** As the API server has it now; undefined if it is deleted. */
  owner: StoredVmOwner | undefined;
  /** All known members that stay and have the same role as the leaving ones: replicas or standby VMs. */
  vms: readonly Member[];
  /** The members that leave in this step. */
  leaving: readonly Member[];
}

/**
 * Returns why a VM may no longer leave; null if it may. A step may run long after it was planned. If the spec has
 * changed since, only a new plan can decide, because only a plan knows all steps in progress. Steps for the unchanged
 * spec were planned together, and never remove more than the surplus between them. `others` and `leaving` count as
 * removed, whatever became of them: VMs that another client deleted meanwhile may have left too few. Whether the cause
 * is that of each VM, `removalUnverified` says.
 */
export function removalBlockedBy({ cause, owner, vms, leaving }: RemovalCheckInput): string | null {
  if (owner === undefined) return 'its owner is gone';
  if (cause.because === 'Terminating') return null;
  const { deletionTimestamp, generation = 0, finalizers = [] } = owner.metadata;
  if (cause.because === 'Annotated')
    return finalizers.includes(ORPHAN_FINALIZER) ? 'its owner is being deleted without its VMs' : null;
  if (cause.because === 'OwnerDeleted')
    return deletionTimestamp !== undefined && !finalizers.includes(ORPHAN_FINALIZER)
      ? null
      : 'its owner is being deleted without its VMs';
  if (cause.because === 'Ended' || cause.because === 'Surge')
    return deletionTimestamp === undefined ? null : 'its owner is being deleted';
  const removals = namedRemovals(owner.metadata.annotations);
  if (cause.because === 'Named') {
    if (deletionTimestamp !== undefined) return 'its owner is being deleted';
    return leaving.every(namedAmong(removals, false)) ? null : 'its removal is no longer requested';
  }
  if (generation !== cause.generation) return 'its owner has changed since';
  const others = new Set([...cause.others, ...leaving.map(({ name }) => name)]);
  // VMs that are to be removed by name don't stay.
  const isNamed = namedAmong(removals);
  const active = vms.filter((vm) => !others.has(vm.name) && !isNamed(vm));
  const wanted = wantedOf(owner, cause.because === 'StandbySurplus' ? 'Standby' : null);
  return active.length < wanted ? `its owner would have ${active.length} VMs of ${wanted}` : null;
}

function wantedOf(owner: StoredVmOwner, role: MemberRole | null): number {
  if (role === 'Surge') return maxSurgeOf(owner as StoredPool);
  return role === null ? owner.spec.replicas : standbyRules(owner.spec as PoolSpec).replicas;
}

interface CreationCheckInput {
  /** Generation of the spec that this was planned for; undefined if the VM replaces another. */
  generation: number | undefined;
  /** As the API server has it now; undefined if it is deleted. */
  owner: StoredVmOwner | undefined;
  /** How many other members of the owner hold places, as far as is known: those that are being created included. */
  others: number;
  /** What the VM is to be, and all of `others` are; null for replicas. */
  role?: MemberRole | null;
  /** How many of these the owner is to have, if those are more than its spec wants: a healed VM comes back. */
  most?: number | undefined;
}

/** Returns why nothing may be done that was planned for this spec; null if it may. */
export function planOutdated(owner: StoredVmOwner | undefined, generation: number | undefined): string | null {
  if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) return 'its owner is gone';
  const isChanged = generation !== undefined && (owner.metadata.generation ?? 0) !== generation;
  return isChanged ? 'its owner has changed since' : null;
}

/** Returns why a VM may no longer be created; null if it may. Users may have put others into its place meanwhile. */
export function creationBlockedBy(input: CreationCheckInput): string | null {
  const { generation, owner, others, role = null, most = 0 } = input;
  const outdated = planOutdated(owner, generation);
  if (owner === undefined || outdated !== null) return outdated;
  const wanted = Math.max(wantedOf(owner, role), most);
  return others < wanted ? null : `its owner has ${others} VMs of ${wanted} without it`;
}
