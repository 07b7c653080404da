import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  KubeVirts,
  Leases,
  Namespaces,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachineReplicaSets,
  type Resource,
} from '../../api/resources.ts';

/** What a worker does not do, or does not know, without the objects of a kind: in words after "off:". */
const OFF: ReadonlyMap<Resource, string> = new Map([
  [VirtualMachineReplicaSets, 'VirtualMachineReplicaSets'],
  [VirtualMachineInstanceReplicaSets, 'VirtualMachineInstanceReplicaSets'],
  [VirtualMachineOperations, 'operations'],
  [VirtualMachineOperationSchedules, 'schedules of operations'],
  [ClusterVirtualMachineOperations, 'cluster-wide operations'],
  [VirtualMachineDisruptionBudgets, 'disruption budgets of namespaces'],
  [ClusterVirtualMachineDisruptionBudgets, 'cluster-wide disruption budgets'],
  [Namespaces, 'cluster-wide operations'],
  [VirtualMachineInstanceMigrations, 'live migrations by drover, and waiting for those of others'],
  [
    Nodes,
    'healing of VMs on nodes that do not answer, restarts off nodes that are drained, spreading by zone, and the check of machine types against nodes',
  ],
  [Leases, 'leaving namespaces to their own workers'],
  [KubeVirts, "KubeVirt's configuration: its defaults are assumed"],
]);

/** Whether a worker can do without the objects of this kind. */
export const isOptional = (resource: Resource): boolean => OFF.has(resource);

/** What is off without the objects of this kind. */
export const offWithout = (resource: Resource): string => OFF.get(resource) ?? '';
