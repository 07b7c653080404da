import type { Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { headersOf, poolColumns, rowOf, vmColumnsOfPool } from '../cli/columns.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { table } from '../cli/output.ts';
import { vmsByPool, type Vm } from './members.ts';

/** Renders each pool as a table of one row, and beneath it a table of its VMs. */
export async function poolTrees(
  kube: KubeClient,
  pools: Stored[],
  namespace: string,
  wide: boolean,
): Promise<string[]> {
  const { items } = await ofKnownKind(VirtualMachines, kube.list<Vm>(VirtualMachines, { namespace }));
  const vms = vmsByPool(items);
  const choice = { wide, namespaces: false };
  return pools.flatMap((pool, index) => {
    const owned = vms.get(pool.metadata.uid) ?? [];
    const rows = owned.map((vm) => rowOf(vmColumnsOfPool, choice, vm));
    return [
      ...(index === 0 ? [] : ['']),
      ...table(headersOf(poolColumns, choice), [rowOf(poolColumns, choice, pool)]),
      ...(rows.length === 0 ? [] : ['', ...table(headersOf(vmColumnsOfPool, choice), rows).map((line) => `  ${line}`)]),
    ];
  });
}
