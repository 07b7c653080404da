import { MACHINE_TYPE_RESTART_LABEL } from '../../api/names.ts';
import { recordOf } from '../../decisions/machine-types/record.ts';
import type { TransitionProgress, TransitionRecord } from '../../decisions/machine-types/transition.ts';
import { controllerOf, type Stored } from '../../kubernetes/objects.ts';
import { byName, type Pool } from '../fleet.ts';
import { guestTypeOf, hasOldGuest, typeOf, type TypedVm, type TypedVmi } from './types-of.ts';

export type ReportState =
  /** Changed, and no guest with the type of before runs. */
  | 'Done'
  /** Changed, and its guest still has the type of before. */
  | 'Waiting'
  | 'Restarting'
  /** Its pool was changed, and is to roll it. */
  | 'InPool'
  /** Somebody has given it another type since. */
  | 'ChangedSince'
  | 'Failed'
  /** Not changed yet: paused, migrating, in another's hand. */
  | 'PutOff'
  /** Not to be changed. */
  | 'LeftAlone';

/** What a transition has done to one VM; types are null where they are not known, or there was none. */
export interface ReportRow {
  namespace: string;
  name: string;
  from: string | null;
  to: string | null;
  /** Of the guest that ran when it was changed. */
  guestBefore: string | null;
  state: ReportState;
  why: string | null;
}

export interface ReportInput {
  /** The part of the transition's id that VMs carry. */
  id: string;
  vms: { vm: Stored<TypedVm>; guest: Stored<TypedVmi> | null }[];
  pools: Stored<Pool>[];
  /** Null where Temporal does not know it any more. */
  progress: Pick<TransitionProgress, 'failed' | 'passedOver' | 'inHand'> | null;
}

/**
 * What has become of each VM that a transition has changed, or has tried to, or has passed over, by what the VMs carry of it and what its
 * workflow says. VMs that were deleted since are told only where they failed.
 */
export function reportOf({ id, vms, pools, progress }: ReportInput): ReportRow[] {
  const changedPools = new Map(pools.flatMap(({ metadata }) => ofTransition(metadata.annotations, id, (record) => [metadata.uid, { record, pool: metadata.name }] as const)));
  const rows = new Map<string, ReportRow>();
  for (const { vm, guest } of vms) {
    const { namespace = '', name } = vm.metadata;
    const row = (record: TransitionRecord, how: Pick<ReportRow, 'state' | 'why'>): ReportRow => ({ namespace, name, from: record.from, to: record.to, guestBefore: record.guest, ...how });
    const pool = changedPools.get(controllerOf(vm)?.uid ?? '');
    const own = recordOf(vm.metadata.annotations);
    if (own?.id === id) rows.set(`${namespace}/${name}`, row(own, standing({ id, vm, guest, record: own })));
    else if (pool !== undefined) rows.set(`${namespace}/${name}`, row(pool.record, standingInPool({ vm, guest, ...pool })));
  }
  const types = new Map(vms.map(({ vm }) => [`${vm.metadata.namespace}/${vm.metadata.name}`, typeOf(vm)]));
  const told = (key: string, state: ReportState, why: string): void => {
    const [namespace = '', name = ''] = key.split('/');
    const known = rows.get(key) ?? { namespace, name, from: types.get(key) ?? null, to: null, guestBefore: null };
    rows.set(key, { ...known, state, why });
  };
  for (const { vms, why, isWish } of progress?.passedOver ?? []) for (const key of vms) told(key, isWish ? 'LeftAlone' : 'PutOff', why);
  for (const key of progress?.inHand ?? []) told(key, 'Restarting', 'not seen to be ready with its new type yet');
  for (const { vm, why } of progress?.failed ?? []) told(vm, 'Failed', why);
  return [...rows.values()].sort((one, other) => byName({ metadata: one }, { metadata: other }));
}

function ofTransition<T>(annotations: Record<string, string> | undefined, id: string, then: (record: TransitionRecord) => T): T[] {
  const record = recordOf(annotations);
  return record?.id === id ? [then(record)] : [];
}

interface Look {
  vm: Stored<TypedVm>;
  guest: Stored<TypedVmi> | null;
  record: TransitionRecord;
}

function standing({ id, vm, guest, record }: Look & { id: string }): Pick<ReportRow, 'state' | 'why'> {
  const type = typeOf(vm);
  if (type !== null && type !== record.to) return { state: 'ChangedSince', why: `its type is ${type} now` };
  if (!hasOldGuest(guest, record)) return { state: 'Done', why: null };
  const isMarked = vm.metadata.labels?.[MACHINE_TYPE_RESTART_LABEL] === id;
  return { state: 'Waiting', why: `its guest still has ${record.guest}${isMarked ? '' : ', and nobody waits for its restart any more'}` };
}

function standingInPool({ vm, guest, record, pool }: Look & { pool: string }): Pick<ReportRow, 'state' | 'why'> {
  if (typeOf(vm) === record.from || guestTypeOf(guest) === record.from) return { state: 'InPool', why: `pool ${pool} is to roll it` };
  return { state: 'Done', why: `rolled by pool ${pool}` };
}

export const REPORT_COLUMNS = ['namespace', 'name', 'from', 'to', 'guest before', 'state', 'why'];

export const cellsOf = ({ namespace, name, from, to, guestBefore, state, why }: ReportRow): (string | null)[] => [namespace, name, from, to, guestBefore, state, why];

/** As RFC 4180 has it, with a header; what is not known is empty. */
export const csvOf = (rows: ReportRow[]): string => [REPORT_COLUMNS, ...rows.map(cellsOf)].map((cells) => cells.map(quoted).join(',')).join('\n');

/** Only where it must be. */
const quoted = (cell: string | null): string => (cell === null ? '' : /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
