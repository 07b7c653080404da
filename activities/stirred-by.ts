import { canonical } from '../decisions/canonical.ts';
import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { VmView } from '../decisions/vm.ts';
import type { FleetChange } from './fleet.ts';

export const keyOfPool = (pool: StoredPool): string => `${pool.metadata.namespace}/${pool.metadata.name}`;

/** The pools, as `namespace/name`, that a change concerns; none where nothing changed that a decision reads. */
export function stirredBy(change: FleetChange): string[] {
  if (change.kind === 'pool') {
    const pool = change.after ?? change.before!;
    return poolWords(change.before) === poolWords(change.after) ? [] : [keyOfPool(pool)];
  }
  if (looksTheSame(change.before, change.after)) return [];
  const owners = [change.before, change.after].flatMap((vm) =>
    vm?.owner?.kind === 'VirtualMachinePool' ? [`${vm.namespace}/${vm.owner.name}`] : [],
  );
  return [...new Set(owners)];
}

/** All of a pool that a decision reads, but for its status: drover itself writes that. */
function poolWords(pool: StoredPool | undefined): string {
  if (pool === undefined) return '';
  const { uid, generation, deletionTimestamp, finalizers } = pool.metadata;
  return canonical({ uid, generation, deletionTimestamp, finalizers });
}

function looksTheSame(before: VmView | undefined, after: VmView | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return Object.entries(after).every(([key, value]: [string, unknown]) => {
    const other: unknown = before[key as keyof VmView];
    return value === other || key === 'resourceVersion' || (typeof value === 'object' && canonical(value) === canonical(other));
  });
}
