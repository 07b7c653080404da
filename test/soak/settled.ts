import { DISKS_FINALIZER, MACHINE_TYPE_RESTART_LABEL, REMOVING_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  PersistentVolumeClaims,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import type { Temporal } from '../../clients/session/temporal.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Migration } from '../../simulator/objects/kubevirt.ts';
import { isOver } from '../../simulator/vmi/migration.ts';
import type { Pool } from '../model/facts.ts';
import { isPoolAsWanted, LASTING } from '../model/play/wanted.ts';
import { ALONE, SETS } from './fleet.ts';
import { NAMESPACE } from './seen-world.ts';
import { isOpen } from './work.ts';

const namespace = NAMESPACE;
type Set = Stored & { spec: { replicas: number } };

/** UIDs that must be the same at the end: of VMs of no owner, and of the claims of kept disks. */
export async function lastingUids(kube: KubeClient): Promise<Map<string, string>> {
  const claims = (await kube.list(PersistentVolumeClaims, { namespace })).items;
  const vms = (await kube.list(VirtualMachines, { namespace })).items.filter(({ metadata }) =>
    ALONE.includes(metadata.name),
  );
  return new Map([...claims, ...vms].map(({ metadata }) => [metadata.name, metadata.uid]));
}

/** Returns what is lost of those, or another of its name. */
export async function lostOf(kube: KubeClient, before: ReadonlyMap<string, string>): Promise<string[]> {
  const now = await lastingUids(kube);
  return [...before]
    .filter(([name, uid]) => now.get(name) !== uid)
    .map(([name, uid]) => `${name} was ${uid}, and is ${now.get(name)}`);
}

/** Returns what is not yet as it must be in the end, or left over. */
export async function unsettled(kube: KubeClient, temporal: Temporal): Promise<string[]> {
  const [pools, vms, vmis, operations, migrations] = await Promise.all([
    kube.list<Pool>(VirtualMachinePools, { namespace }),
    kube.list(VirtualMachines, { namespace }),
    kube.list(VirtualMachineInstances, { namespace }),
    kube.list<StoredOperation>(VirtualMachineOperations, { namespace }),
    kube.list<Migration & Stored>(VirtualMachineInstanceMigrations, { namespace }),
  ]);
  const of = (uid: string): Stored[] => vms.items.filter((vm) => controllerOf(vm)?.uid === uid);
  const sets = await Promise.all(
    Object.entries(SETS).map(([name, resource]) => kube.get<Set>(resource, { namespace, name })),
  );
  const budgets = await Promise.all([
    kube.list<StoredBudget>(VirtualMachineDisruptionBudgets),
    kube.list<StoredBudget>(ClusterVirtualMachineDisruptionBudgets),
  ]);
  const members = [...vms.items, ...vmis.items];
  return [
    ...pools.items.flatMap((pool) => whyPoolIsNot(pool, of(pool.metadata.uid))),
    ...budgets.flatMap(({ items }) =>
      items.flatMap(({ metadata, status }) => claimsIn(`budget ${metadata.name}`, status?.claims)),
    ),
    ...sets.flatMap(({ metadata: { name, uid }, spec }) => {
      const { length } = members.filter((one) => controllerOf(one)?.uid === uid);
      return length === spec.replicas ? [] : [`G12: set ${name} has ${length} members of ${spec.replicas}`];
    }),
    ...operations.items
      .filter(isOpen)
      .map((one) => `G12: operation ${one.metadata.name} is open: ${conditionsOf(one)}`),
    ...migrations.items.filter((one) => !isOver(one)).map((one) => `G22: migration ${one.metadata.name} is open`),
    ...members.flatMap(leftOn),
    ...(await openWorkflows(temporal)),
  ];
}

/** Returns the operations that have not ended well. */
export async function failedOperations(kube: KubeClient): Promise<string[]> {
  const { items } = await kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
  return items
    .filter(({ status }) => !status?.conditions?.some(({ type, status: is }) => type === 'Complete' && is === 'True'))
    .map((one) => `operation ${one.metadata.name} (${one.spec.action}) has failed: ${conditionsOf(one)}`);
}

const conditionsOf = ({ status }: Pick<StoredOperation, 'status'>): string =>
  (status?.conditions ?? []).map(({ type, status: is, message }) => `${type}=${is} ${message}`).join('; ');

function whyPoolIsNot(pool: Pool, vms: readonly Stored[]): string[] {
  const { name } = pool.metadata;
  return [
    ...(isPoolAsWanted(pool, vms) ? [] : [`G12: pool ${name} is not as wanted: ${JSON.stringify(pool.status)}`]),
    ...claimsIn(`pool ${name}`, pool.status?.disruptedVMs),
  ];
}

const claimsIn = (what: string, claims: readonly object[] = []): string[] =>
  claims.length === 0 ? [] : [`G12: ${what} has claims left: ${JSON.stringify(claims)}`];

/** What workers write on VMs for a while. */
function leftOn({ metadata }: Stored): string[] {
  const { name, annotations, labels, finalizers = [], deletionTimestamp } = metadata;
  return [
    ...(deletionTimestamp === undefined ? [] : [`G26: ${name} is still being deleted`]),
    ...(annotations?.[REMOVING_ANNOTATION] === undefined ? [] : [`G12: ${name} is marked to leave`]),
    ...(labels?.[MACHINE_TYPE_RESTART_LABEL] === undefined ? [] : [`G4: ${name} is marked for a restart`]),
    ...(finalizers.includes(DISKS_FINALIZER) && deletionTimestamp !== undefined ? [`G7: ${name} keeps its disks`] : []),
  ];
}

async function openWorkflows({ client }: Temporal): Promise<string[]> {
  const open: string[] = [];
  for await (const { workflowId, type } of client.workflow.list({ query: `ExecutionStatus = 'Running'` }))
    if (!LASTING.has(type) && type !== 'operationSchedule') open.push(`G12: workflow ${workflowId} is open`);
  return open;
}
