import type { ObjectRef } from '../../contract/fleet.ts';

/** What the address shows. Each view has one that can be sent: the part after `#`. */
export type Route =
  | { view: 'fleet'; find: string; namespace: string }
  | { view: 'owner'; id: string; page: number; isTable: boolean }
  | { view: 'vm'; namespace: string; name: string }
  | { view: 'operations' }
  | { view: 'operation'; id: string; page: number; find: string }
  | { view: 'schedules' }
  | { view: 'drains' }
  | { view: 'budgets' }
  | { view: 'node'; name: string }
  | { view: 'unknown' };

/** Kinds whose ids are addresses as well. */
const OWNERS = new Set(['pool', 'vmrs', 'vmirs', 'none']);
const OPERATIONS = new Set(['vmop', 'cvmop']);

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const params = new URLSearchParams(query);
  const parts = path.split('/').map(decoded);
  const [first = '', second = '', third = ''] = parts;
  if (second === '') return listOf(path, params);
  const page = Math.max(1, Math.trunc(Number(params.get('page')) || 1));
  if (OWNERS.has(first)) return { view: 'owner', id: parts.join('/'), page, isTable: params.get('as') === 'table' };
  if (OPERATIONS.has(first)) return { view: 'operation', id: parts.join('/'), page, find: params.get('find') ?? '' };
  if (first === 'vmops') return { view: 'schedules' };
  if (first === 'vmdb') return { view: 'budgets' };
  if (first === 'vm' && third !== '') return { view: 'vm', namespace: second, name: third };
  return first === 'node' ? { view: 'node', name: second } : { view: 'unknown' };
}

function listOf(path: string, params: URLSearchParams): Route {
  switch (path) {
    case '':
      return { view: 'fleet', find: params.get('find') ?? '', namespace: params.get('namespace') ?? '' };
    case 'operations':
    case 'schedules':
    case 'drains':
    case 'budgets':
      return { view: path };
    default:
      return { view: 'unknown' };
  }
}

/** The address of a card, an operation, a VM or a node, by its id; with what else is asked for. */
export function hrefOf(id: string, params: Record<string, string | number> = {}): string {
  const given = Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]);
  const query = new URLSearchParams(given.filter(([, value]) => value !== '')).toString();
  return `#/${id.split('/').map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

const IDS: Record<string, string> = {
  VirtualMachinePool: 'pool',
  VirtualMachineReplicaSet: 'vmrs',
  VirtualMachineInstanceReplicaSet: 'vmirs',
  VirtualMachineOperation: 'vmop',
  ClusterVirtualMachineOperation: 'cvmop',
  VirtualMachine: 'vm',
  VirtualMachineInstance: 'vm',
  VirtualMachineOperationSchedule: 'vmops',
  VirtualMachineDisruptionBudget: 'vmdb',
  ClusterVirtualMachineDisruptionBudget: 'vmdb',
  Node: 'node',
  Namespace: 'none',
};

/** The id of an object; null if the page shows none of its kind. */
export function idOf({ kind, namespace, name }: ObjectRef): string | null {
  const first = IDS[kind];
  if (first === undefined) return null;
  return [first, namespace, name].filter((part) => part !== null && part !== '').join('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The object of a card. */
export const refOf = (item: { kind: string | null; namespace: string; name: string }): ObjectRef => ({
  kind: item.kind ?? 'Namespace',
  namespace: item.namespace,
  name: item.name,
});
