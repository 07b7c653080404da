import { type Stored } from '../../api/objects.ts';
import { byController, identityOf, isControlledBy } from '../../api/ownership.ts';
import { Pods, VirtualMachineInstances, VirtualMachines, type Resource } from '../../api/resources.ts';
import { byNumber } from '../../decisions/lib/names.ts';
import { transferPatch, type Transfer } from '../../decisions/membership/transfer.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale, KubeError } from '../../kubernetes/errors.ts';
import { moveVm, type VmWithVmi as Read } from '../../kubernetes/move-vm.ts';

export type Vm = Stored<VirtualMachine>;

/** A VM, and the VMI that is its own. */
export type VmWithVmi = Read<Vm>;

type Texts = Record<string, string | null>;

/** KubeVirt's label of a VMI's pods. */
const CREATED_BY = 'kubevirt.io/created-by';

/** Returns the VMs that a pool controls, drover's or KubeVirt's, in the order of their numbers. */
export const controlledBy = async (kube: KubeClient, resource: Resource, pool: Stored): Promise<Vm[]> =>
  (await kube.list<VirtualMachine>(VirtualMachines, { namespace: identityOf(pool).namespace })).items
    .filter((vm) => isControlledBy(vm, resource, identityOf(pool)))
    .sort((one, other) => byNumber(one.metadata.name, other.metadata.name));

/** Returns each of these VMs with its VMI. */
export async function withVmis(kube: KubeClient, namespace: string, vms: readonly Vm[]): Promise<VmWithVmi[]> {
  const { items } = await kube.list(VirtualMachineInstances, { namespace });
  const vmisOf = byController(items, VirtualMachines);
  return vms.map((vm) => ({ vm, vmi: vmisOf(identityOf(vm))[0] }));
}

/** What a VM and its VMI get; the VMI and its pod get these labels, and the VMI the annotations. */
export interface Move {
  transfer: Transfer;
  vmi: { labels: Texts; annotations: Texts };
}

/**
 * Labels the VM's VMI, and the pod of that, by which an autoscaler counts; then gives the VM another controller, as
 * `moveVm` does. `mayMove` is asked right before that write, and may forbid it.
 */
export function move(
  kube: KubeClient,
  vm: { namespace: string; name: string; uid: string },
  moveOf: (vm: VmWithVmi) => Move,
  mayMove: () => Promise<boolean>,
): Promise<boolean> {
  let labels: Texts = {};
  let vmi: string | undefined;
  return moveVm<Vm>(kube, vm, {
    patchesOf: (read) => {
      const moving = moveOf(read);
      ({ labels } = moving.vmi);
      vmi = read.vmi?.metadata.uid;
      return { vm: transferPatch(read.vm, moving.transfer), vmi: moving.vmi };
    },
    mayMove: async () => {
      if (vmi !== undefined) await labelPods(kube, { namespace: vm.namespace, uid: vmi }, labels);
      return mayMove();
    },
  });
}

/**
 * KubeVirt sets the labels of a VMI's pod only when it creates the pod. Returns false without permission to patch pods:
 * the labels stay until the VMI restarts.
 */
export async function labelPods(
  kube: KubeClient,
  { namespace, uid }: { namespace: string; uid: string },
  labels: Texts,
): Promise<boolean> {
  try {
    const { items } = await kube.list(Pods, { namespace, labelSelector: `${CREATED_BY}=${uid}` });
    for (const pod of items) {
      const patch = { metadata: { uid: pod.metadata.uid, labels } };
      await ignoreStale(kube.patch(Pods, { namespace, name: pod.metadata.name }, 'merge', patch));
    }
    return true;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return false;
  }
}
