import type { Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { Pods, VirtualMachineInstances, VirtualMachines, type Resource } from '../../api/resources.ts';
import { withVmis, type VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import type { VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { byNumber } from '../../decisions/lib/names.ts';
import type { Vm } from '../../decisions/membership/moves.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale, KubeError } from '../../kubernetes/errors.ts';
import { Failure, throwAll } from '../cli/failure.ts';

type Texts = Record<string, string | null>;

/** KubeVirt's label of a VMI's pods. */
const CREATED_BY = 'kubevirt.io/created-by';

/** Returns the VMs that a pool controls, drover's or KubeVirt's, in the order of their numbers. */
export const controlledBy = async (kube: KubeClient, resource: Resource, pool: Stored): Promise<Vm[]> =>
  (await kube.list<VirtualMachine>(VirtualMachines, { namespace: identityOf(pool).namespace })).items
    .filter((vm) => isControlledBy(vm, resource, identityOf(pool)))
    .sort((a, b) => byNumber(a.metadata.name, b.metadata.name));

/** Reads the named VMs, each once. Throws a `KubeError` (404) for a missing one. */
export const namedVms = (kube: KubeClient, namespace: string, names: readonly string[]): Promise<Vm[]> =>
  Promise.all([...new Set(names)].map((name) => kube.get<VirtualMachine>(VirtualMachines, { namespace, name })));

/** Throws a `Failure` for each of the VMs that something can't be done to. */
export function refuseVms(vms: readonly Vm[], whyNot: (vm: Vm) => string | null): void {
  throwAll(
    vms.flatMap((vm) => {
      const message = whyNot(vm);
      return message === null ? [] : [new Failure(`vm ${vm.metadata.name} ${message}`)];
    }),
  );
}

export const readVmis = async (kube: KubeClient, namespace: string, vms: readonly Vm[]): Promise<VmWithVmi[]> =>
  withVmis(vms, (await kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace })).items);

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
