import { formatVms } from '../../decisions/runs/report.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { printNote, print, table, type Cell, printData, type DataFormat } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { noNamespace, readNodeViews, readVmiViews, readVmViews } from './read.ts';
import { supportedTypes, TypeTally, type TypeCounts, type TypeInUse } from './types-in-use.ts';

/** Prints the machine types in use, of all namespaces unless one is given, or says that there are none. */
export const machineTypes: Work<{ allNamespaces?: boolean; output?: DataFormat | 'wide' }> = async (
  session,
  { allNamespaces = false, output },
) => {
  const namespace = allNamespaces ? undefined : session.globals.namespace;
  const { types, supported } = await readTypes(await session.kube(), namespace);
  if (output === 'json' || output === 'yaml') return printData({ items: types, supported }, output);
  if (types.length === 0)
    printNote(`no VM${namespace === undefined ? '' : ` in namespace ${namespace}`} has a machine type`);
  else print(typesLines(types, { wide: output === 'wide' }));
  if (supported !== null) print(supportLines(supported, types));
  if (types.some(({ nodes }) => nodes === null))
    printNote('which types the nodes have is not known: they do not say, or you may not list them');
};

/**
 * Returns the machine types in the specs and VMIs of a namespace, or of all. Throws `Failure` for a missing namespace.
 */
async function readTypes(
  kube: KubeClient,
  namespace: string | undefined,
): Promise<{ types: TypeInUse[]; supported: Supported[] | null }> {
  const tally = new TypeTally();
  for await (const vm of readVmViews(kube, namespace)) tally.vm(vm);
  for await (const vmi of readVmiViews(kube, namespace)) tally.vmi(vmi);
  const nodes = await readNodeViews(kube);
  const types = tally.types(nodes);
  const missing = types.length === 0 && namespace !== undefined ? await noNamespace(kube, [namespace]) : null;
  if (missing !== null) throw missing;
  const supported = nodes === null ? null : supportedTypes(nodes);
  return {
    types,
    supported: supported && [...supported].sort(byName).map(([type, having]) => ({ type, nodes: having })),
  };
}

const byName = ([one]: [string, number], [other]: [string, number]): number => (one < other ? -1 : 1);

/** A machine type that schedulable nodes have, and how many do. */
interface Supported {
  type: string;
  nodes: number;
}

/** Which types nodes have beside those in use. Labels say nothing of deprecation. */
export function supportLines(supported: readonly Supported[], types: readonly TypeInUse[]): string[] {
  const others = supported.filter(({ type }) => types.every((used) => used.type !== type));
  const counted = others.map(({ type, nodes }) => `${type} (${nodes})`).join(', ');
  return [
    `other types that nodes have, and how many do: ${others.length === 0 ? 'none' : counted}`,
    "types that will be removed: only KubeVirt's metric kubevirt_node_deprecated_machine_types names them",
  ];
}

/** A table of the types, and the totals. */
export function typesLines(types: TypeInUse[], { wide }: { wide: boolean }): string[] {
  const rows = types.flatMap((type) =>
    Object.entries(type.namespaces).map(([namespace, counts]) => rowOf(type, namespace, counts, wide)),
  );
  const headers = ['NAMESPACE', 'TYPE', 'VMS', 'VMIS', ...(wide ? ['NODES', 'NEWER'] : []), 'STATE'];
  return [...table(headers, rows), '', formatTotal(types)];
}

const rowOf = (type: TypeInUse, namespace: string, { vms, vmis }: TypeCounts, wide: boolean): Cell[] => [
  namespace,
  type.type,
  vms,
  vmis,
  ...(wide ? [type.nodes ?? '<unknown>', type.newer ?? '<none>'] : []),
  stateOf(type, vms),
];

/**
 * A newer type on the nodes is not an error: every VMI started before the nodes were upgraded has an older one, even if
 * its VM asks for `q35`.
 */
function stateOf({ nodes, newer, isAlias }: TypeInUse, vms: number): Cell {
  if (nodes === 0) return { text: 'no schedulable node has it', style: 'red' };
  const alone = vms === 0 ? '; no VM asks for this one' : '';
  if (newer !== null) return { text: `older: nodes have ${newer}${alone}`, style: 'yellow' };
  if (isAlias) return 'alias';
  return nodes === null ? '<unknown>' : 'newest of the nodes';
}

function formatTotal(types: TypeInUse[]): string {
  if (types.some(({ nodes }) => nodes === null)) return formatCounted(types);
  const old = types.filter(({ isOld }) => isOld);
  const [lost, older] = [old.filter(({ nodes }) => nodes === 0), old.filter(({ nodes }) => nodes !== 0)];
  return [
    formatCounted(types),
    ...(old.length === 0 ? ['none of an older type than nodes have'] : []),
    ...(lost.length === 0 ? [] : [`of types that no node has: ${formatCounted(lost)}`]),
    ...(older.length === 0 ? [] : [`of older types than nodes have: ${formatCounted(older)}`]),
  ].join('; ');
}

function formatCounted(types: TypeInUse[]): string {
  const [vms, vmis] = [types.reduce((sum, type) => sum + type.vms, 0), types.reduce((sum, type) => sum + type.vmis, 0)];
  return `${formatVms(vms)}, ${vmis} ${vmis === 1 ? 'VMI' : 'VMIs'}`;
}
