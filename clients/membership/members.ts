import { type Stored } from '../../api/objects.ts';
import { byController, identityOf, isControlledBy } from '../../api/ownership.ts';
import { Pods, VirtualMachineInstances, VirtualMachines, type Resource } from '../../api/resources.ts';
import { byNumber } from '../../decisions/lib/names.ts';
import { transferPatch, type Transfer } from '../../decisions/membership/transfer.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale, KubeError } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';

export type Vm = Stored<VirtualMachine>;

/** A VM, and the VMI that is its own. */
export interface VmWithVmi {
  vm: Vm;
  vmi: Stored | undefined;
}

type Texts = Record<string, string | null>;

/** KubeVirt's label of a VMI's pods. */
const CREATED_BY = 'kubevirt.io/created-by';
/** KubeVirt writes to a VM that starts or migrates several times a second. */
const TRIES = 20;

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
 * Labels the VM's VMI, and the pod of that, by which an autoscaler counts; then gives the VM another controller, or
 * none, in one write that is refused if the VM has changed meanwhile. Returns false if the VM is gone, is being
 * deleted, or does not have the controller that is meant. `mayMove` is asked right before that write, and may forbid
 * it.
 */
export async function move(
  kube: KubeClient,
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
  moveOf: (vm: VmWithVmi) => Move,
  mayMove: () => Promise<boolean> = async () => true,
): Promise<boolean> {
  const key = { namespace, name };
  return retryOnConflict(
    async () => {
      const vm = await ignoreNotFound(kube.get<VirtualMachine>(VirtualMachines, key));
      if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return false;
      const vmi = await vmiOf(kube, vm);
      const { transfer, vmi: metadata } = moveOf({ vm, vmi });
      const patch = transferPatch(vm, transfer);
      if (patch === null) return false;
      // If the command is killed between the two writes, the VM has not moved, and running the command again continues
      // here.
      if (vmi !== undefined) await labelVmi(kube, vmi, metadata);
      if (!(await mayMove())) return false;
      await kube.patch(VirtualMachines, key, 'merge', patch);
      return true;
    },
    { tries: TRIES },
  );
}

async function vmiOf(kube: KubeClient, vm: Vm): Promise<Stored | undefined> {
  const { namespace, name } = vm.metadata;
  const vmi = await ignoreNotFound(kube.get(VirtualMachineInstances, { namespace, name }));
  return vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm)) ? vmi : undefined;
}

/** KubeVirt writes to a VMI often, and none of that concerns its labels: its UID is guard enough. */
async function labelVmi(
  kube: KubeClient,
  { metadata: { namespace, name, uid } }: Stored,
  metadata: Move['vmi'],
): Promise<void> {
  const patch = { metadata: { uid, ...metadata } };
  await ignoreStale(kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', patch));
  await labelPods(kube, { namespace: namespace!, uid }, metadata.labels);
}

/**
 * KubeVirt sets a pod's labels only when it creates the pod. Without permission to patch pods, the labels stay until
 * the VMI restarts.
 */
async function labelPods(
  kube: KubeClient,
  { namespace, uid }: { namespace: string; uid: string },
  labels: Texts,
): Promise<void> {
  try {
    const { items } = await kube.list(Pods, { namespace, labelSelector: `${CREATED_BY}=${uid}` });
    for (const pod of items) {
      const patch = { metadata: { uid: pod.metadata.uid, labels } };
      await ignoreStale(kube.patch(Pods, { namespace, name: pod.metadata.name }, 'merge', patch));
    }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
  }
}
