import type { KubeObject, Stored } from '../../api/objects.ts';
import { identityKey } from '../../api/owner-references.ts';
import {
  Namespaces,
  Nodes,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { OwningPool, VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import { nodeView, type Node } from '../../decisions/from-object/node.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import type { NodeView } from '../../decisions/views/node.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreForbidden, isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';

/** Keeps only a view of each object, page by page, to save memory. Objects come in order of their names. */
async function* readViews<T extends KubeObject, View>(
  kube: KubeClient,
  resource: Resource,
  namespace: string | undefined,
  view: (object: Stored<T>) => View,
): AsyncGenerator<View, void> {
  for await (const { items } of kube.pages<T>(resource, { namespace })) yield* items.map(view);
}

/** VMs of a namespace, or of all. */
export const readVmViews = (kube: KubeClient, namespace: string | undefined): AsyncGenerator<VmView, void> =>
  readViews<VirtualMachine, VmView>(kube, VirtualMachines, namespace, vmView);

/** VMIs of a namespace, or of all. */
export const readVmiViews = (kube: KubeClient, namespace: string | undefined): AsyncGenerator<VmiView, void> =>
  readViews<VirtualMachineInstance, VmiView>(kube, VirtualMachineInstances, namespace, vmiView);

/** Returns all nodes; null if the user may not list them. */
export const readNodeViews = async (kube: KubeClient): Promise<NodeView[] | null> =>
  (await ignoreForbidden(kube.list<Node>(Nodes)))?.items.map(nodeView) ?? null;

/**
 * Returns a `Failure` that names the first missing namespace; null if all exist, or if the user may not read them.
 */
export async function noNamespace(kube: KubeClient, namespaces: readonly string[] | null): Promise<Failure | null> {
  for (const name of namespaces ?? []) {
    try {
      await kube.get(Namespaces, { name });
    } catch (error) {
      if (isNotFound(error)) return new Failure(`there is no namespace ${name}`, { cause: error });
      if (!(error instanceof KubeError) || isTransient(error)) throw error;
    }
  }
  return null;
}

/** The fleet as the API server has it now, like a worker's cache of it. */
export interface VmInventory {
  vms: VmView[];
  vmis: VmiView[];
  pools: StoredPool[];
  /** Null if the user may not list them. */
  nodes: NodeView[] | null;
}

/** Reads the fleet in these namespaces, or in all (null). */
export async function readInventory(kube: KubeClient, namespaces: readonly string[] | null): Promise<VmInventory> {
  const [nodes, fleet] = await Promise.all([readNodeViews(kube), readFleet(kube, namespaces)]);
  return { ...fleet, nodes };
}

/** As `readInventory`, without nodes. */
export async function readFleet(
  kube: KubeClient,
  namespaces: readonly string[] | null,
): Promise<Omit<VmInventory, 'nodes'>> {
  const [pools, vms, vmis] = await Promise.all([
    readAll((namespace) => readViews(kube, VirtualMachinePools, namespace, poolView)),
    readAll((namespace) => readVmViews(kube, namespace)),
    readAll((namespace) => readVmiViews(kube, namespace)),
  ]);
  return { vms, vmis, pools };

  async function readAll<View>(read: (namespace: string | undefined) => AsyncGenerator<View, void>): Promise<View[]> {
    const all: View[] = [];
    for (const namespace of namespaces ?? [undefined]) for await (const view of read(namespace)) all.push(view);
    return all;
  }
}

/** Indexes the fleet by who owns what. */
export function snapshotOf({ vms, vmis, pools }: Omit<VmInventory, 'nodes'>): VmsSnapshot {
  const byKey = new Map(vms.map((vm) => [`${vm.namespace}/${vm.name}`, vm]));
  const vmiByKey = new Map(vmis.map((vmi) => [`${vmi.namespace}/${vmi.name}`, vmi]));
  const owned = Map.groupBy(vms, ({ namespace, owner }) =>
    owner?.kind === VirtualMachinePools.kind ? identityKey({ namespace, uid: owner.uid }) : undefined,
  );
  const owners = new Map(
    pools.map((pool): [string, OwningPool] => {
      const key = identityKey(pool.metadata);
      return [key, { pool, vms: () => owned.get(key) ?? [] }];
    }),
  );
  return {
    vmOf: (key) => byKey.get(key),
    vmiOf: ({ namespace, name, uid }) => {
      const vmi = vmiByKey.get(`${namespace}/${name}`);
      return vmi?.vmUid === uid ? vmi : undefined;
    },
    poolOf: ({ namespace, owner }) =>
      owner?.kind === VirtualMachinePools.kind ? owners.get(identityKey({ namespace, uid: owner.uid })) : undefined,
  };
}
