import type { Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { withVmis, type VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { byName } from '../cli/owner.ts';
import { checkSelector } from '../cli/parse-values.ts';
import type { Session } from '../session/session.ts';

interface VmScope {
  /** All namespaces if undefined. */
  namespace: string | undefined;
  selector?: string | undefined;
}

/** Returns the namespaces and labels asked for. Throws `UsageError`. */
export async function scopeOf(
  session: Session,
  { allNamespaces = false, selector }: { allNamespaces?: boolean; selector?: string | undefined },
): Promise<VmScope> {
  await checkSelector(selector);
  return { namespace: allNamespaces ? undefined : await session.namespace(), selector };
}

/** Reads all VMs of the scope, in order of their names, without VMIs that are terminating or have ended. */
export async function readVms(kube: KubeClient, { namespace, selector }: VmScope): Promise<VmWithVmi[]> {
  const [vms, vmis] = await Promise.all([
    kube.list<VirtualMachine>(VirtualMachines, { namespace, labelSelector: selector }),
    kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace }),
  ]);
  return withVmis(vms.items.sort(byName), vmis.items.filter(isLive));
}

/** Reads the named VMs as `readVms` does. Throws a `KubeError` (404) for a missing VM. */
export function readNamed(kube: KubeClient, namespace: string, names: string[]): Promise<VmWithVmi[]> {
  return Promise.all(
    [...new Set(names)].map(async (name) => {
      const vm = await kube.get<VirtualMachine>(VirtualMachines, { namespace, name });
      const vmi = await ignoreNotFound(kube.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name }));
      return withVmis([vm], vmi !== undefined && isLive(vmi) ? [vmi] : [])[0]!;
    }),
  );
}

const isLive = (vmi: Stored<VirtualMachineInstance>): boolean => liveVmi(vmiView(vmi)) !== undefined;
