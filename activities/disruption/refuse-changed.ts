import { controllerOf, type ObjectMeta } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { isOptedOut } from '../../decisions/views/annotations/protection.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { Claim } from '../disruption-budget/claim.ts';

/**
 * Throws a conflict if the VM has left its owner, is to be left alone, or has come under another disruption budget,
 * since it was looked at: what ends or moves a VMI takes no precondition on its VM, and a cache, or the wait for a
 * claim on the budget, may be seconds behind. `claim`: null for an act that needs none.
 */
export async function refuseChanged(client: KubeClient, vm: VmView, claim: Claim | null): Promise<void> {
  const { namespace, name } = vm;
  const now = await ignoreNotFound(client.getMetadata(VirtualMachines, { namespace, name }));
  const { uid, deletionTimestamp, labels = {}, ...marks }: Partial<ObjectMeta> = now?.metadata ?? {};
  const isSame = uid === vm.uid && (now && controllerOf(now)?.uid) === vm.owner?.uid;
  const hasOptedOut = isOptedOut(marks, Date.now()) && !vm.optedOut;
  if (!isSame || hasOptedOut || (deletionTimestamp !== undefined && !vm.deleting))
    throw new ActRefused('Conflict', 'it has just left its pool, or has just opted out');
  claim?.recheck({ namespace, ownLabels: labels });
}

/** Throws a conflict if the VMI is no longer there: a migration would move the VMI that has come in its place. */
export async function refuseEnded(client: KubeClient, { namespace, name, uid }: VmiView): Promise<void> {
  const now = await ignoreNotFound(client.getMetadata(VirtualMachineInstances, { namespace, name }));
  if (now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined)
    throw new ActRefused('Conflict', 'its VMI has just ended');
}
