import { GROUP } from '../../api/names.ts';
import { isAlias } from '../../decisions/machine-types/machine-type.ts';
import type { TransitionProgress, TransitionRecord } from '../../decisions/machine-types/transition.ts';
import type { VmView } from '../../decisions/views/vm.ts';

export type ReportState =
  /** Changed, and no guest with the type of before runs. */
  | 'Done'
  /** Changed, and its guest still has the type of before. */
  | 'Waiting'
  | 'Restarting'
  /** Its pool was changed, and is to roll it. */
  | 'InPool'
  /** Somebody has given it another type since, be it by another transition. */
  | 'ChangedSince'
  | 'Failed'
  /** Not changed yet: paused, migrating, in another's hand. */
  | 'PutOff'
  /** Not to be changed. */
  | 'LeftAlone'
  /** Deleted since. */
  | 'Gone';

/** What a transition has done to one VM; types are null where they are not known, or there was none. */
export interface ReportRow {
  namespace: string;
  name: string;
  from: string | null;
  to: string | null;
  /** Of the guest that ran when it was changed; of one that its pool has rolled, nobody knows it any more. */
  guestBefore: string | null;
  state: ReportState;
  why: string | null;
}

/** As much of a VM as a report tells. */
export type ReportedVm = Pick<
  VmView,
  'namespace' | 'name' | 'owner' | 'machineType' | 'transition' | 'transitionMark'
> & {
  /** Machine type of its live guest; null without one, and where nobody knows yet. */
  guestType: string | null;
};

export interface ReportInput {
  /** The part of the transition's id that VMs carry. */
  id: string;
  /** In the order that is told. */
  vms: ReportedVm[];
  /** What pools carry of their last transitions, by the UIDs of the pools. */
  pools: ReadonlyMap<string, TransitionRecord>;
  /** Null where Temporal does not know it any more. */
  progress: Pick<TransitionProgress, 'failed' | 'passedOver' | 'inHand'> | null;
  /**
   * Somebody has ended it in Temporal: nobody follows what it had in hand, or waits for what still carries its mark.
   */
  isCutOff: boolean;
  /**
   * All that it has changed, by `namespace/name`, also those that are not there any more; none where Temporal does not
   * tell.
   */
  changed: readonly string[];
}

type How = Pick<ReportRow, 'state' | 'why'>;

/**
 * What has become of each VM that a transition has changed, or has tried to, or has passed over, by what the VMs carry
 * of it and what its workflow says.
 */
export function reportOf({ id, vms, pools, progress, isCutOff, changed }: ReportInput): ReportRow[] {
  const told = new Map(progress === null ? [] : toldOf(isCutOff ? { ...progress, inHand: [] } : progress));
  const isChanged = new Set(changed);
  const rows = vms.flatMap((vm): ReportRow[] => {
    const { namespace, name, machineType } = vm;
    const key = `${namespace}/${name}`;
    const record = vm.transition?.id === id ? vm.transition : null;
    const ofPool = pools.get(vm.owner?.uid ?? '');
    const inPool = ofPool?.id === id ? ofPool : null;
    const said = told.get(key);
    const seen = record !== null ? standing(vm, record, isCutOff) : inPool !== null ? standingInPool(vm, inPool) : null;
    // That is why it is left alone.
    const how =
      said?.state === 'LeftAlone' && seen?.state === 'ChangedSince' ? { ...said, state: seen.state } : (said ?? seen);
    told.delete(key);
    const { from = machineType, to = null, guest = null } = record ?? (inPool !== null ? recordInPool(vm, inPool) : {});
    if (how !== null) return [{ namespace, name, from, to, guestBefore: guest, ...how }];
    return isChanged.has(key) && vm.transition !== null ? [changedAgain(vm, vm.transition)] : [];
  });
  const there = new Set(vms.map(({ namespace, name }) => `${namespace}/${name}`));
  const deleted = changed.filter((key) => !there.has(key) && told.get(key)?.state !== 'Failed');
  return [
    ...rows,
    ...[...told].flatMap(([key, how]) => (how.state === 'Failed' ? [gone(key, how)] : [])),
    ...deleted.map((key) => gone(key, { state: 'Gone', why: 'it is not there any more' })),
  ];
}

/** What its workflow says counts for more than what VMs carry. */
function toldOf({
  failed,
  passedOver,
  inHand,
}: Pick<TransitionProgress, 'failed' | 'passedOver' | 'inHand'>): [vm: string, how: How][] {
  return [
    ...passedOver.flatMap(({ vms, why, isWish }) =>
      vms.map((vm): [string, How] => [vm, { state: isWish ? 'LeftAlone' : 'PutOff', why }]),
    ),
    ...inHand.map((vm): [string, How] => [
      vm,
      { state: 'Restarting', why: 'not seen to be ready with its new type yet' },
    ]),
    ...failed.map(({ vm, why }): [string, How] => [vm, { state: 'Failed', why }]),
  ];
}

/** A VM that is not there any more, or a pool, `pool namespace/name`. */
function gone(key: string, how: How): ReportRow {
  const isPool = key.startsWith('pool ');
  const [namespace = '', own = ''] = key.slice(isPool ? 'pool '.length : 0).split('/');
  const name = isPool ? `pool.${GROUP}/${own}` : own;
  return { namespace, name, from: null, to: null, guestBefore: null, ...how };
}

/** The record of what was done to it is that of another transition by now. */
const changedAgain = ({ namespace, name }: ReportedVm, { id, from }: TransitionRecord): ReportRow => ({
  namespace,
  name,
  from: null,
  to: from || null,
  guestBefore: null,
  state: 'ChangedSince',
  why: `transition ${id} has changed it since`,
});

function standing(
  { machineType, transitionMark, guestType }: ReportedVm,
  record: TransitionRecord,
  isCutOff: boolean,
): How {
  if (machineType !== null && machineType !== record.to)
    return { state: 'ChangedSince', why: `its type is ${machineType} now` };
  if (!isOldGuest(guestType, record)) return { state: 'Done', why: null };
  return {
    state: 'Waiting',
    why: `its guest still has ${guestType}${transitionMark === record.id && !isCutOff ? '' : ', and nobody waits for its restart any more'}`,
  };
}

function standingInPool({ machineType, guestType, owner }: ReportedVm, { from, to }: TransitionRecord): How {
  // A template without a type has given its VMs one all the same: it is the new one that tells them apart then.
  const isRolled =
    from === ''
      ? machineType === to && (guestType === null || guestType === to || isAlias(to))
      : machineType !== from && guestType !== from;
  return isRolled
    ? { state: 'Done', why: `rolled by pool ${owner?.name}` }
    : { state: 'InPool', why: `pool ${owner?.name} is to roll it` };
}

/**
 * As it would stand on a VM of the pool: what that got, where the pool's own template has no type any more, and the
 * type of a guest of before.
 */
const recordInPool = (
  { machineType, guestType }: ReportedVm,
  { from, to }: TransitionRecord,
): { from: string | null; to: string | null; guest: string | null } => ({
  from: from || (machineType === to ? null : machineType),
  to: to || (machineType === from ? null : machineType),
  guest: guestType === from ? guestType : null,
});

/** Whether a guest is the one of before its VM was changed, or one that came back with that type. */
export const isOldGuest = (guestType: string | null, { guest, to }: TransitionRecord): boolean =>
  guest !== null && guest !== to && guestType === guest;

export const REPORT_COLUMNS = ['namespace', 'name', 'from', 'to', 'guest before', 'state', 'why'];

export const cellsOf = ({ namespace, name, from, to, guestBefore, state, why }: ReportRow): (string | null)[] => [
  namespace,
  name,
  from,
  to,
  guestBefore,
  state,
  why,
];

/** As RFC 4180 has it, with a header; what is not known is empty. */
export const csvOf = (rows: ReportRow[]): string =>
  [REPORT_COLUMNS, ...rows.map(cellsOf)].map((cells) => cells.map(quoted).join(',')).join('\n');

/** Only where it must be. */
const quoted = (cell: string | null): string =>
  cell === null ? '' : /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
