import { matchesLabels } from '../../api/lib/label-selector.ts';
import type { OperationAction } from '../../api/operations/operation.ts';
import type { VmSelection } from '../../api/operations/selection.ts';
import { liveVmi, runsByItself } from '../health/availability.ts';
import { globMatcher } from '../lib/glob.ts';
import { formatNames } from '../lib/names.ts';
import { isRunning } from '../machine-types/scope.ts';
import { isAboutVmi, targetOfVmi } from '../power/target.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { isRestartRequired } from './restart-required.ts';

type Operation = Pick<StoredOperation, 'metadata' | 'spec'>;
type Matcher = (vm: VmView, vmi: VmiView | undefined) => boolean;

export interface ChoiceInput {
  operation: Operation;
  /** The VMs of its namespace. */
  vms: Iterable<VmView>;
  vmiOf: (vm: VmView) => VmiView | undefined;
  /** UID of its owner; undefined if there is none of that kind and name. */
  ownerUid: string | undefined;
}

/**
 * Returns what the operation is about by the names of the VMs: their VMIs, as `targetOfVmi` names them, for a restart
 * or a migration, else the UIDs of the VMs themselves. Nothing that is younger than the operation: VMs that have come
 * since are not what was asked for. Both times are the API server's, and whole seconds, so that what is of the same
 * second counts: somebody who has just started a VM means it, too.
 *
 * What the operation was noted on stays its own: a run that begins anew, since Temporal has lost the last one, goes on
 * with that, and touches no VM again, not even if its next VMI is of that second.
 */
export function chooseVms({ operation, vms, vmiOf, ownerUid }: ChoiceInput): Record<string, string> {
  const { action, vms: selection } = operation.spec;
  const createdAt = Date.parse(operation.metadata.creationTimestamp);
  const matches = selectionMatcher(selection, ownerUid);
  const chosen: Record<string, string> = {};
  for (const vm of vms) {
    const vmi = vmiOf(vm);
    const noted = vm.deleting ? null : notedTarget(operation, vm);
    const target = vm.deleting || !matches(vm, vmi) ? null : targetOf(action, vm, vmi);
    if (noted !== null) chosen[vm.name] = noted;
    else if (target !== null && target.createdAt <= createdAt) chosen[vm.name] = target.uid;
  }
  return chosen;
}

/** Returns by which UID the VM was chosen by an earlier run of the operation; null if none has noted it. */
function notedTarget({ metadata, spec }: Operation, { uid, power }: VmView): string | null {
  if (power?.by !== metadata.uid) return null;
  if (!isAboutVmi(spec.action)) return uid;
  return power.vmi === undefined ? null : targetOfVmi(spec.action, { uid: power.vmi, pod: power.pod ?? null });
}

/**
 * Returns whether the operation is about a VM that a run was given: by what does not change while VMs are started and
 * stopped. That it ran, or waited for a restart, was true when it was chosen.
 */
export function meantVms({ metadata, spec }: Operation, ownerUid: string | undefined): Matcher {
  const createdAt = Date.parse(metadata.creationTimestamp);
  const matches = lastingMatcher(spec.vms, ownerUid);
  return (vm, vmi) => {
    const target = isAboutVmi(spec.action) ? vmi : vm;
    return vm.namespace === metadata.namespace && target !== undefined && target.createdAt <= createdAt && matches(vm);
  };
}

/**
 * Says what an operation names that does not exist, such as a name that was mistyped; null if there is all of it. Of an
 * operation that has begun before, a VM may be gone since: nothing is missing then.
 */
export function missingOf(
  { spec, status }: Pick<StoredOperation, 'spec' | 'status'>,
  hasVm: (name: string) => boolean,
  ownerUid: string | undefined,
): string | null {
  const { names = [], owner } = spec.vms;
  if (status?.startTime !== undefined) return null;
  const missing = names.filter((name) => !hasVm(name));
  if (missing.length > 0) return `no VM was touched: there is no VM ${formatNames(missing)}`;
  if (owner === undefined || ownerUid !== undefined) return null;
  return `no VM was touched: there is no ${owner.kind} ${owner.name}`;
}

/** Returns what is to be acted on; null if there is nothing to do. */
function targetOf(action: OperationAction, vm: VmView, vmi: VmiView | undefined): Target | null {
  const live = liveVmi(vmi);
  if (isAboutVmi(action)) return live === undefined ? null : { ...live, uid: targetOfVmi(action, live) };
  // A VM whose VMI fails again and again may have none in this moment: it is stopped all the same.
  const isUp = live !== undefined || (action === 'Stop' && runsByItself({ spec: { runStrategy: vm.runStrategy } }));
  return isUp === (action === 'Stop') ? vm : null;
}

type Target = Pick<VmView | VmiView, 'uid' | 'createdAt'>;

/** VMs that their pool has beside its replicas are started and stopped by it: people mean them only by name. */
function lastingMatcher(
  { names, selector, owner }: VmSelection,
  ownerUid: string | undefined,
): (vm: VmView) => boolean {
  if (names !== undefined) {
    const named = new Set(names);
    return ({ name }) => named.has(name);
  }
  return (vm) =>
    vm.role === null &&
    (selector === undefined || matchesLabels(selector, vm.ownLabels)) &&
    (owner === undefined || (vm.owner?.kind === owner.kind && vm.owner.uid === ownerUid));
}

function selectionMatcher(selection: VmSelection, ownerUid: string | undefined): Matcher {
  const { runState, machineType, restartRequired, launcherOutdated } = selection;
  const matches = lastingMatcher(selection, ownerUid);
  const isOfType = machineType === undefined ? null : globMatcher(machineType);
  return (vm, vmi) =>
    matches(vm) &&
    (runState === undefined || isRunning(vm, vmi) === (runState === 'Running')) &&
    (isOfType === null || (vm.machineType !== null && isOfType(vm.machineType))) &&
    (restartRequired !== true || (vmi !== undefined && isRestartRequired(vm, vmi))) &&
    (launcherOutdated !== true || vmi?.launcherOutdated === true);
}
