import { isAlias, newerThan } from '../../decisions/machine-types/machine-type.ts';
import type { NodeView } from '../../decisions/views/node.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';

/** How many VMs ask for a machine type, and how many live VMIs have it. */
export interface TypeCounts {
  vms: number;
  vmis: number;
}

/** A machine type that VMs ask for, or that VMIs have. */
export interface TypeInUse extends TypeCounts {
  type: string;
  namespaces: Record<string, TypeCounts>;
  /** Whether the name is an alias: the actual type is decided when a VMI starts. */
  isAlias: boolean;
  /** How many schedulable nodes have the type; null if nodes don't say, or were not asked. */
  nodes: number | null;
  /**
   * The newest type of its family on a schedulable node, if newer than this one; null if there is none, or it is
   * unknown.
   */
  newer: string | null;
  /** No schedulable node has the type, or one has a newer one. That alone is not a reason to change it. */
  isOld: boolean;
}

/** Counts types by namespace; VMs and VMIs are added one by one, and none is kept. */
export class TypeTally {
  readonly #types = new Map<string, Record<string, TypeCounts>>();

  vm({ machineType, namespace }: Pick<VmView, 'machineType' | 'namespace'>): void {
    if (machineType !== null) this.#of(machineType, namespace).vms++;
  }

  /** Counts only live VMIs of VMs. Before a VMI runs, its type is that of its spec. */
  vmi(vmi: VmiView): void {
    const type = vmi.machineType ?? vmi.specMachineType;
    if (type !== null && vmi.vmUid !== null && !vmi.deleting && !isFinal(vmi)) this.#of(type, vmi.namespace).vmis++;
  }

  /** Returns the types, sorted by name. `nodes`: null if they could not be read. */
  types(nodes: readonly NodeView[] | null): TypeInUse[] {
    const supported = nodes === null ? null : supportedTypes(nodes);
    return [...this.#types]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([type, namespaces]) => {
        const newer = supported === null ? null : newerThan(type, supported.keys());
        const having = supported === null ? null : (supported.get(type) ?? 0);
        const { vms, vmis } = sum(Object.values(namespaces));
        return {
          type,
          vms,
          vmis,
          namespaces,
          isAlias: isAlias(type),
          nodes: having,
          newer,
          isOld: newer !== null || having === 0,
        };
      });
  }

  #of(type: string, namespace: string): TypeCounts {
    const namespaces = this.#types.get(type) ?? {};
    this.#types.set(type, namespaces);
    return (namespaces[namespace] ??= { vms: 0, vmis: 0 });
  }
}

/** Counts the schedulable nodes with each type; null if no node says which types it has. */
export function supportedTypes(nodes: readonly NodeView[]): Map<string, number> | null {
  if (nodes.every(({ machineTypes }) => machineTypes.length === 0)) return null;
  const having = new Map<string, number>();
  for (const { schedulable, machineTypes } of nodes) {
    for (const type of schedulable ? machineTypes : []) having.set(type, (having.get(type) ?? 0) + 1);
  }
  return having;
}

const sum = (counts: TypeCounts[]): TypeCounts => ({
  vms: counts.reduce((total, { vms }) => total + vms, 0),
  vmis: counts.reduce((total, { vmis }) => total + vmis, 0),
});
