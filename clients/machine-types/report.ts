import type { TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { predatesChange, type TransitionRecord } from '../../decisions/views/annotations/transition-record.ts';
import type { VmView } from '../../decisions/views/vm.ts';

type ReportState =
  /** Changed, and no VMI with the old type runs. */
  | 'Done'
  /** Changed, but its VMI still has the old type. */
  | 'Waiting'
  | 'Restarting'
  /** A user, or another transition, has since given it another type. */
  | 'ChangedSince'
  | 'Failed'
  /** Not changed yet: paused, migrating, in use by another transition. */
  | 'Deferred'
  /** Must not be changed. */
  | 'Excluded'
  /** Deleted since. */
  | 'Gone';

/** What a transition has done to one VM; types are null if unknown, or if there was none. */
export interface ReportRow {
  namespace: string;
  name: string;
  from: string | null;
  to: string | null;
  /** Machine type of its VMI at the time of the change. */
  vmiTypeBefore: string | null;
  state: ReportState;
  message: string | null;
}

export type ReportedVm = Pick<VmView, 'namespace' | 'name' | 'machineType' | 'transition' | 'transitionLabel'> & {
  /** Machine type of its live VMI; null without a VMI, or if not known yet. */
  vmiType: string | null;
};

export interface ReportInput {
  /** The part of the transition's id that VMs carry. */
  id: string;
  /** In the order of the report. */
  vms: ReportedVm[];
  /** Null if Temporal no longer knows it. */
  progress: Pick<TransitionProgress, 'failed' | 'skipped' | 'inProgress'> | null;
  /** All VMs that it has changed, by `namespace/name`, including deleted ones; empty if Temporal doesn't tell. */
  changed: readonly string[];
}

type How = Pick<ReportRow, 'state' | 'message'>;

/**
 * Returns what became of each VM that a transition changed, tried to change or skipped, from what the VMs record of it
 * and what its workflow reports.
 */
export function reportOf(input: ReportInput): ReportRow[] {
  const { vms, progress, changed } = input;
  const reported = new Map(progress === null ? [] : reportedRows(progress));
  const isChanged = new Set(changed);
  const rows = vms.flatMap((vm): ReportRow[] => {
    const key = `${vm.namespace}/${vm.name}`;
    const row = rowOf(vm, input, reported.get(key) ?? null);
    reported.delete(key);
    if (row !== null) return [row];
    return isChanged.has(key) && vm.transition !== null ? [changedAgain(vm, vm.transition)] : [];
  });
  const there = new Set(vms.map(({ namespace, name }) => `${namespace}/${name}`));
  const deleted = changed.filter((key) => !there.has(key) && reported.get(key)?.state !== 'Failed');
  return [
    ...rows,
    ...[...reported].flatMap(([key, how]) => (how.state === 'Failed' ? [gone(key, how)] : [])),
    ...deleted.map((key) => gone(key, { state: 'Gone', message: 'it no longer exists' })),
  ];
}

/** `reported`: what the workflow reports of the VM. Returns null if there is nothing to say about it. */
function rowOf(vm: ReportedVm, input: ReportInput, reported: How | null): ReportRow | null {
  const { namespace, name } = vm;
  const { seen, from, to, vmiType } = recordedOf(vm, input.id);
  // The VM is excluded because its type was changed since.
  const isChangedSince = reported?.state === 'Excluded' && seen?.state === 'ChangedSince';
  const how = isChangedSince ? { ...reported, state: seen.state } : (reported ?? seen);
  return how && { namespace, name, from, to, vmiTypeBefore: vmiType, ...how };
}

/** Returns what the VM records of the transition, and what has become of that. */
function recordedOf(
  vm: ReportedVm,
  id: string,
): { seen: How | null; from: string | null; to: string | null; vmiType: string | null } {
  if (vm.transition?.id === id) {
    const { from, to, vmiType } = vm.transition;
    return { seen: stateOf(vm, vm.transition), from, to, vmiType };
  }
  return { seen: null, from: vm.machineType, to: null, vmiType: null };
}

/** What the workflow reports takes precedence over what VMs record. */
function reportedRows({
  failed,
  skipped,
  inProgress,
}: Pick<TransitionProgress, 'failed' | 'skipped' | 'inProgress'>): [vm: string, how: How][] {
  return [
    ...skipped.flatMap(({ vms, message, isExcluded }) =>
      vms.map((vm): [string, How] => [vm, { state: isExcluded ? 'Excluded' : 'Deferred', message }]),
    ),
    ...inProgress.map((vm): [string, How] => [
      vm,
      { state: 'Restarting', message: 'not seen to be ready with its new type yet' },
    ]),
    ...failed.map(({ vm, message }): [string, How] => [vm, { state: 'Failed', message }]),
  ];
}

/** A row for a deleted VM. */
function gone(key: string, how: How): ReportRow {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, from: null, to: null, vmiTypeBefore: null, ...how };
}

/** The VM's record is now that of another transition. */
const changedAgain = ({ namespace, name }: ReportedVm, { id, by, from }: TransitionRecord): ReportRow => ({
  namespace,
  name,
  from: null,
  to: from || null,
  vmiTypeBefore: null,
  state: 'ChangedSince',
  message: `operation ${by ?? id} has changed it since`,
});

function stateOf({ machineType, transitionLabel, vmiType }: ReportedVm, record: TransitionRecord): How {
  if (machineType !== null && machineType !== record.to)
    return { state: 'ChangedSince', message: `its type is ${machineType} now` };
  if (!predatesChange(vmiType, record)) return { state: 'Done', message: null };
  return {
    state: 'Waiting',
    message: `its VMI still has ${vmiType}${transitionLabel === record.id ? '' : ', and nothing waits for its restart any more'}`,
  };
}

export const REPORT_COLUMNS = ['namespace', 'name', 'from', 'to', 'VMI type before', 'state', 'message'];

export const cellsOf = ({ namespace, name, from, to, vmiTypeBefore, state, message }: ReportRow): (string | null)[] => [
  namespace,
  name,
  from,
  to,
  vmiTypeBefore,
  state,
  message,
];
