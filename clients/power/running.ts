import type { Stored } from '../../api/objects.ts';
import { byController, identityOf, isControlledBy } from '../../api/ownership.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { VirtualMachineInstance } from '../../decisions/views/from-object/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { byName } from '../cli/objects.ts';

/** A VM with its VMI; null without a VMI, or if it is terminating or has ended. */
export interface VmWithVmi {
  vm: Stored<VirtualMachine>;
  vmi: Stored<VirtualMachineInstance> | null;
}

export interface VmScope {
  /** All namespaces if undefined. */
  namespace: string | undefined;
  selector?: string | undefined;
}

/** Reads all VMs of the scope, in order of their names. */
export async function readVms(kube: KubeClient, { namespace, selector }: VmScope): Promise<VmWithVmi[]> {
  const [vms, vmis] = await Promise.all([
    ofKnownKind(
      VirtualMachines,
      kube.list<VirtualMachine>(VirtualMachines, {
        namespace,
        ...(selector === undefined ? {} : { labelSelector: selector }),
      }),
    ),
    ofKnownKind(VirtualMachineInstances, kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace })),
  ]);
  const vmisOf = byController(vmis.items, VirtualMachines);
  return vms.items.sort(byName).map((vm) => ({ vm, vmi: liveOrNull(vmisOf(identityOf(vm))[0]) }));
}

/** Reads the named VMs. Throws a `KubeError` (404) for a missing VM. */
export function readNamed(kube: KubeClient, namespace: string, names: string[]): Promise<VmWithVmi[]> {
  return Promise.all(
    [...new Set(names)].map(async (name) => {
      const vm = await ofKnownKind(VirtualMachines, kube.get<VirtualMachine>(VirtualMachines, { namespace, name }));
      const vmi = await kube
        .get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name })
        .catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
      const isOwn = vmi !== undefined && isControlledBy(vmi, VirtualMachines, identityOf(vm));
      return { vm, vmi: isOwn ? liveOrNull(vmi) : null };
    }),
  );
}

const ENDED = new Set(['Succeeded', 'Failed']);

const liveOrNull = (vmi: Stored<VirtualMachineInstance> | undefined): Stored<VirtualMachineInstance> | null =>
  vmi === undefined || vmi.metadata.deletionTimestamp !== undefined || ENDED.has(vmi.status?.phase ?? '') ? null : vmi;
