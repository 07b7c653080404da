import type * as z from 'zod';
import type { ClusterVirtualMachineDisruptionBudget, VirtualMachineDisruptionBudget } from '../budgets/budget.ts';
import type { VirtualMachinePool } from '../pool/pool.ts';
import type { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../replica-set/replica-set.ts';
import type { Resource } from '../resources.ts';
import type { Finding } from './check.ts';
import type { Json } from './kept-by-server.ts';

/** An object that `drover apply` makes. */
export type Applicable =
  | VirtualMachinePool
  | VirtualMachineReplicaSet
  | VirtualMachineInstanceReplicaSet
  | z.infer<typeof VirtualMachineDisruptionBudget | typeof ClusterVirtualMachineDisruptionBudget>;

/** The result of reading a document: an object to apply with notes for the user, or what is wrong. */
export type Reading = { object: Applicable; notes: string[] } | { findings: Finding[] };
export type Written = (path: readonly PropertyKey[]) => string | undefined;
export type Reader = (document: Json, written: Written) => Reading;

/** A kind that `drover apply` makes, with a reader for each apiVersion in which it may be written. */
export interface ManifestKind {
  resource: Resource;
  readers: Readonly<Record<string, Reader>>;
}
