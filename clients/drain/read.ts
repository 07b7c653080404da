import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { type Stored } from '../../api/objects.ts';
import {
  KubeVirts,
  Nodes,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import type { KubeVirt } from '../../decisions/from-object/kubevirt.ts';
import {
  inFlightView,
  migrationView,
  type VirtualMachineInstanceMigration,
} from '../../decisions/from-object/migration.ts';
import { nodeView, type Node } from '../../decisions/from-object/node.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { DRAIN_TAINT, isDrained, withNode } from '../../decisions/views/drained-node.ts';
import { evacuationOf } from '../../decisions/views/evacuation.ts';
import type { MigrationView } from '../../decisions/views/migration.ts';
import type { Pool, StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreUnseen } from '../../kubernetes/errors.ts';
import { NotThere } from '../cli/failure.ts';
import { readPacing } from './hand-over.ts';
import type { NodeReportInput, OnNode } from './node-report.ts';

/** KubeVirt's own label on a VMI: the node that it is on, once its pod has come up. */
export const NODE_LABEL = 'kubevirt.io/nodeName';

/** What is read of a namespace with VMIs on the node. */
interface Namespace {
  pools: StoredPool[];
  vms: VmView[];
  vmis: VmiView[];
  /** Migrations that have not ended and are not drover's, by the name of the VMI. */
}

interface ReadNode extends NodeReportInput {
  isDrained: boolean;
  reason: string | null;
}

/** Reads what a report about the node needs. Throws `NotThere` if the node does not exist. */
export async function readNode(kube: KubeClient, node: string, pastBudgets: boolean): Promise<ReadNode> {
  // VMs that leave other nodes take places in the budgets of their pools, too.
  const { items: all } = await kube.list<Node>(Nodes);
  const nodes = new Map(all.map((one) => [one.metadata.name, nodeView(one)]));
  const own = all.find(({ metadata }) => metadata.name === node);
  if (own === undefined) throw new NotThere(`there is no node ${node}`);
  const { strategy: clusterStrategy, drainTaint } = await kubevirtOf(kube);
  const onItsNode = (vmi: VmiView): VmiView => withNode(vmi, nodes, drainTaint);
  const listed = (labelSelector: string) =>
    kube.list<VirtualMachineInstance>(VirtualMachineInstances, { labelSelector }).then(({ items }) => items);
  const [there, onNoNode] = await Promise.all([listed(`${NODE_LABEL}=${node}`), listed(`!${NODE_LABEL}`)]);
  const starting = onNoNode.filter((vmi) => vmiView(vmi).podNode === node);
  const items = [...there, ...starting];
  const names = new Set(items.map(({ metadata }) => metadata.namespace!));
  const namespaces = new Map<string, Namespace>();
  for (const name of names) namespaces.set(name, await readNamespace(kube, name));
  const vmis = new Map(
    [...namespaces].map(([name, { vmis: ofAll }]) => [name, new Map(ofAll.map((vmi) => [vmi.vmUid, onItsNode(vmi)]))]),
  );
  return {
    onNode: items.map((item) => {
      const { vmi, ...owners } = onNode(item, namespaces.get(item.metadata.namespace!)!);
      return { ...owners, vmi: onItsNode(vmi), isStarting: starting.includes(item) };
    }),
    membersOf: ({ metadata }) =>
      namespaces.get(metadata.namespace)!.vms.filter((vm) => isOwnedBy(vm, 'VirtualMachinePool', metadata)),
    vmiOf: ({ namespace, uid }) => vmis.get(namespace)?.get(uid),
    clusterStrategy,
    labelsOfNode: (name) => nodes.get(name)?.labels,
    ...(await readPacing(kube, node, pastBudgets)),
    isDrained: isDrained(nodeView(own), drainTaint),
    reason: own.metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? null,
  };
}

async function readNamespace(kube: KubeClient, namespace: string): Promise<Namespace> {
  const [pools, vms, vmis, migrations] = await Promise.all([
    kube.list<Pool>(VirtualMachinePools, { namespace }),
    kube.list<VirtualMachine>(VirtualMachines, { namespace }),
    kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace }),
    kube.list<VirtualMachineInstanceMigration>(VirtualMachineInstanceMigrations, {
      namespace,
    }),
  ]);
  const known = migrations.items.map(migrationView).filter((view): view is MigrationView => view !== null);
  const inFlight = new Map(
    migrations.items.flatMap((one) => {
      const view = inFlightView(one);
      return view === null ? [] : [[view.vmiName, view] as const];
    }),
  );
  const byVmi = Map.groupBy(known, ({ vmiUid }) => vmiUid);
  return {
    pools: pools.items.map(poolView),
    vms: vms.items.map(vmView),
    vmis: vmis.items.map((vmi) => ({
      ...vmiView(vmi),
      evacuation: evacuationOf(byVmi.get(vmi.metadata.uid) ?? []),
      migration: inFlight.get(vmi.metadata.name) ?? null,
    })),
  };
}

function onNode(item: Stored<VirtualMachineInstance>, { pools, vms, vmis }: Namespace): Omit<OnNode, 'isStarting'> {
  const vmi = vmis.find((one) => one.uid === item.metadata.uid) ?? vmiView(item);
  const vm = vms.find((one) => one.uid === vmi.vmUid) ?? null;
  const pool = pools.find(({ metadata }) => vm !== null && isOwnedBy(vm, 'VirtualMachinePool', metadata)) ?? null;
  return { vmi, vm, pool };
}

/** Returns KubeVirt's defaults if the user may not read its configuration. */
async function kubevirtOf(kube: KubeClient): Promise<{ strategy: string; drainTaint: string }> {
  const [kubevirt] = (await ignoreUnseen(kube.list<KubeVirt>(KubeVirts)))?.items ?? [];
  const configuration = kubevirt?.spec?.configuration;
  return {
    strategy: configuration?.evictionStrategy ?? 'None',
    drainTaint: configuration?.migrations?.nodeDrainTaintKey ?? DRAIN_TAINT,
  };
}
