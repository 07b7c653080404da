import { scaleInRules } from '../../api/rules/pool-defaults.ts';
import { isAtRest, vmHasEnded } from '../health/availability.ts';
import type { RemovalCause } from '../owners/steps.ts';
import type { StoredVmOwner } from '../views/owner.ts';
import type { StoredPool } from '../views/pool.ts';
import { isHalted, isSurge, type VmView } from '../views/vm.ts';
import { hasEnded, type VmiView } from '../views/vmi.ts';

/** How a member leaves: with its disks, without them, or halted first so that they can be kept. */
export type WayOut = 'delete' | 'deleteKeepingDisks' | 'halt';

interface RemovalInput {
  cause: RemovalCause;
  way: WayOut;
  /** Its owner, as the API server has it. */
  owner: StoredVmOwner;
  isPool: boolean;
  /** The VM that is to leave, as the API server has it; null for a member that is a VMI. */
  vm: VmView | null;
  /** The VMI of that VM, needed for causes that `isAboutVmi`; or the VMI that is to leave. */
  vmi: VmiView | undefined;
}

/** Reports whether a VM leaves for this cause by what its VMI does. */
export const isAboutVmi = ({ because }: RemovalCause): boolean => because === 'Ended' || because === 'SurplusHalted';

/**
 * Returns what speaks against this member's leaving for this cause in this way; null if nothing does. Decided on the
 * member and its owner as they are, whatever the caller says: no word of the caller's deletes a disk.
 */
export function removalUnverified(input: RemovalInput): string | null {
  const { cause, way, vm, isPool } = input;
  if (vm === null) return way === 'delete' ? memberUnverified(input) : 'a VMI has no disks to keep';
  // No VMI may write to disks that are released.
  if (way === 'deleteKeepingDisks' && !vm.deleting && !isHalted(vm))
    return 'it may still run, and its disks are to be kept';
  if (way !== 'delete' && !isPool && cause.because !== 'Terminating') return 'a set keeps no disks';
  return isPool ? poolVmUnverified(input, vm) : memberUnverified(input);
}

/** Of members of a set, whose disks go with them. */
function memberUnverified({ cause: { because }, way, vm, vmi }: RemovalInput): string | null {
  switch (because) {
    case 'Ended':
      return (vm === null ? vmi !== undefined && hasEnded(vmi) : vmHasEnded(vm, vmi))
        ? null
        : 'it has not run to its end';
    case 'Surplus':
    case 'OwnerDeleted':
      return null;
    case 'Terminating':
      return vm !== null ? heldUnverified(way, vm) : 'it is not held for its disks';
    case 'SurplusHalted':
    case 'StandbySurplus':
    case 'Named':
    case 'Annotated':
    case 'Surge':
      return 'no VM leaves a set for that';
  }
}

function poolVmUnverified({ cause: { because }, way, owner, vmi }: RemovalInput, vm: VmView): string | null {
  switch (because) {
    case 'Terminating':
      return heldUnverified(way, vm);
    case 'Annotated':
      if (!vm.removing) return 'it is not labelled as leaving';
      return way === 'delete' ? 'its disks are to be kept' : null;
    case 'OwnerDeleted':
      if (way !== 'delete') return 'a deleted pool deletes the disks of its VMs';
      // What was to be kept a moment ago is still kept.
      return vm.removing ? 'its disks are to be kept' : null;
    case 'Surge':
      return isKnownExtra(vm) && way === 'delete' ? null : 'it is not an extra VM';
    case 'Ended':
      return 'no VM leaves a pool for that';
    case 'Named':
      return disksUnverified(way, owner as StoredPool);
    case 'SurplusHalted':
      if (!isAtRest(vm, vmi)) return 'it was started';
      return surplusUnverified(vm, null) ?? disksUnverified(way, owner as StoredPool);
    case 'Surplus':
      return surplusUnverified(vm, null) ?? disksUnverified(way, owner as StoredPool);
    case 'StandbySurplus':
      return surplusUnverified(vm, 'Standby') ?? disksUnverified(way, owner as StoredPool);
  }
}

/** Without its label, users may take it for a replica. */
const isKnownExtra = (vm: VmView): boolean => isSurge(vm) && vm.roleLabel === 'Surge';

function surplusUnverified(vm: VmView, role: VmView['role']): string | null {
  if (vm.protected) return 'it is protected from scale-in';
  return vm.role === role ? null : `it is ${vm.role === null ? 'a replica' : vm.role}`;
}

const heldUnverified = (way: WayOut, vm: VmView): string | null =>
  way === 'deleteKeepingDisks' && vm.deleting && vm.keepsDisks ? null : 'it is not held for its disks';

const disksUnverified = (way: WayOut, pool: StoredPool): string | null =>
  keepsDisks(pool) && way === 'delete' ? 'its disks are to be kept' : null;

/** Reports whether the pool keeps the disks of VMs that leave it. */
export function keepsDisks({ spec }: StoredPool): boolean {
  const rules = scaleInRules(spec.scaleInStrategy);
  return rules.kind !== 'unmanaged' && rules.statePreservation === 'Offline';
}
