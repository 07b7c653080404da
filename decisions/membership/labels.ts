import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { targets, vmNames, type PoolStep } from '../owners/steps.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { isReturned } from './returned.ts';

/** How many VMs one step labels. */
const MAX_VMS = 250;

export interface MembersInput {
  pool: StoredPool;
  /** VMs that the pool owns. */
  vms: readonly VmView[];
  /** VMs of its namespace that no controller owns. */
  uncontrolled: readonly VmView[];
}

/** VMs that the pool owns without its label, or that name another pool: users have added its owner reference. */
export const unlabelledMembers = ({ pool, vms }: Omit<MembersInput, 'uncontrolled'>): VmView[] =>
  vms.filter((vm) => !vm.deleting && isUnlabelled(pool.metadata, vm));

/** Whether a VM of this pool lacks its label, or has the record of another pool, or of an earlier VM. */
export const isUnlabelled = (
  { name, uid }: { name: string; uid: string },
  { ownLabels, memberOf, madeAgain }: VmView,
): boolean => ownLabels[POOL_LABEL] !== name || (memberOf !== null && (memberOf !== uid || madeAgain));

/**
 * Returns steps by which labels follow ownership, whatever changed that: an autoscaler counts by the label. A VM has
 * left the pool if the label still names the pool and the VM has no controller, unless a backup has brought the VM back
 * that way.
 */
export function labelSteps({ pool, vms, uncontrolled }: MembersInput): PoolStep[] {
  const { name, uid, deletionTimestamp } = pool.metadata;
  const ofDisks = diskFinalizerSteps({ pool, uncontrolled });
  const labelled = uncontrolled.filter((vm) => hasPoolLabel(vm, name) && !vm.deleting);
  if (deletionTimestamp !== undefined) {
    // The garbage collector has taken the owner off, mostly before a worker could.
    const orphaned = labelled.filter(({ memberOf }) => memberOf === uid);
    return [...labelStep('removeLabels', orphaned, formatOrphaned), ...ofDisks];
  }
  const released = labelled.filter((vm) => !isReturned(pool, vm));
  return [
    ...labelStep('addLabels', unlabelledMembers({ pool, vms }), (names) => `label ${names}: the pool owns them`),
    ...labelStep(
      'removeLabels',
      released,
      (names) => `remove the pool's labels from ${names}: they no longer have a controller`,
    ),
    ...ofDisks,
  ];
}

const formatOrphaned = (names: string): string => `remove the pool's labels from ${names}: it was deleted without them`;

function labelStep(
  kind: 'addLabels' | 'removeLabels',
  all: readonly VmView[],
  reason: (names: string) => string,
): PoolStep[] {
  const vms = all.slice(0, MAX_VMS);
  return vms.length === 0 ? [] : [{ kind, vms: targets(vms), reason: reason(vmNames(vms)) }];
}

const hasPoolLabel = (vm: VmView, pool: string): boolean => vm.labels[POOL_LABEL] === pool;

/**
 * A terminating VM whose owner reference was removed by hand while drover's finalizer still protected its disks:
 * without an owner, nothing else would remove the finalizer.
 */
function diskFinalizerSteps({ pool, uncontrolled }: Pick<MembersInput, 'pool' | 'uncontrolled'>): PoolStep[] {
  const vms = uncontrolled.filter((vm) => hasPoolLabel(vm, pool.metadata.name) && vm.deleting && vm.keepsDisks);
  if (vms.length === 0) return [];
  const reason = `keep the disks of ${vmNames(vms)}, and let their deletion end: they no longer have a controller`;
  return [{ kind: 'removeDiskFinalizers', vms: targets(vms.slice(0, MAX_VMS)), reason }];
}
