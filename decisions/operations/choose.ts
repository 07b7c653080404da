import type { OperationSpec } from '../../api/operations/operation.ts';
import type { VmSelection } from '../../api/operations/selection.ts';
import { matchesLabels } from '../../api/rules/label-selector.ts';
import { liveVmi, runsByItself } from '../health/availability.ts';
import { globMatcher } from '../lib/glob.ts';
import { formatNames } from '../lib/names.ts';
import { excluderOf, isRunning } from '../machine-types/scope.ts';
import { isAboutVmi, targetOfVmi } from '../power/target.ts';
import type { StoredOperation } from '../views/stored-operation.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import type { KubeVirtPlugs } from '../vm-update/disruption.ts';
import { restartReasons } from './restart-required.ts';
import type { LabelsOfNamespace, OperationScope } from './scope.ts';

type Operation = Pick<StoredOperation, 'metadata' | 'spec'>;
type Matcher = (vm: VmView, vmi: VmiView | undefined) => boolean;

export interface ChoiceInput {
  operation: Operation;
  scope: OperationScope;
  /** All VMs that there are. */
  vms: Iterable<VmView>;
  vmiOf: (vm: VmView) => VmiView | undefined;
  plugs: Pick<KubeVirtPlugs, 'migrates'>;
}

/**
 * Returns what the operation is about by the namespaces and names of the VMs: their VMIs, as `targetOfVmi` names them,
 * for a restart or a migration, else the UIDs of the VMs themselves. Nothing that is younger than the operation: VMs
 * that have come since were not requested. Both times are the API server's, in whole seconds, so a VM of the same
 * second counts: a user who has just started a VM wants it included.
 *
 * What the operation was noted on stays its own: a run that begins anew, since Temporal has lost the last one,
 * continues with that, and touches no VM again, not even if its next VMI is of that second.
 */
export function chooseVms({
  operation,
  scope,
  vms,
  vmiOf,
  plugs,
}: ChoiceInput): Record<string, Record<string, string>> {
  const { vms: selection } = operation.spec;
  const createdAt = Date.parse(operation.metadata.creationTimestamp);
  const matches = selectionMatcher(selection, scope, plugs);
  const chosen: Record<string, Record<string, string>> = {};
  for (const vm of vms) {
    if (!scope.includes(vm.namespace)) continue;
    const vmi = vmiOf(vm);
    const recorded = vm.deleting ? null : recordedTarget(operation, vm);
    const target = vm.deleting || !matches(vm, vmi) ? null : targetOf(operation.spec, vm, vmi);
    const uid = recorded ?? (target !== null && target.createdAt <= createdAt ? target.uid : null);
    if (uid !== null) (chosen[vm.namespace] ??= {})[vm.name] = uid;
  }
  return chosen;
}

/** Returns by which UID the VM was chosen by an earlier run of the operation; null if none has noted it. */
function recordedTarget({ metadata, spec }: Operation, { uid, power, changes }: VmView): string | null {
  if (spec.action === 'Patch') return changes.some(({ id }) => id === metadata.uid) ? uid : null;
  if (power?.by !== metadata.uid) return null;
  if (!isAboutVmi(spec.action)) return uid;
  return power.vmi === undefined ? null : targetOfVmi(spec.action, { uid: power.vmi, pod: power.pod ?? null });
}

/**
 * Returns whether the operation is about a VM that a run was given: by what does not change while VMs are started and
 * stopped. That it ran, or waited for a restart, was true when it was chosen.
 */
export function meantVms({ metadata, spec }: Operation, scope: OperationScope): Matcher {
  const createdAt = Date.parse(metadata.creationTimestamp);
  const matches = lastingMatcher(spec.vms, scope);
  return (vm, vmi) => {
    // It may have other labels by the change itself.
    if (spec.action === 'Patch' && recordedTarget({ metadata, spec }, vm) !== null) return scope.includes(vm.namespace);
    const target = isAboutVmi(spec.action) ? vmi : vm;
    return target !== undefined && target.createdAt <= createdAt && matches(vm);
  };
}

interface MissingInput {
  operation: Pick<StoredOperation, 'spec' | 'status'>;
  scope: OperationScope;
  vms: Iterable<Pick<VmView, 'namespace' | 'name'>>;
  labelsOf: LabelsOfNamespace;
}

const no = (what: string): string => `no VM was touched: there is no ${what}`;

/**
 * Says what an operation names that does not exist, such as a name that was mistyped; null if there is all of it. Of an
 * operation that has begun before, a VM may be gone since: nothing is missing then.
 */
export function missingOf({ operation: { spec, status }, scope, vms, labelsOf }: MissingInput): string | null {
  const { names = [], owner } = spec.vms;
  if (status?.startTime !== undefined) return null;
  const unknown = (spec.namespaces ?? []).filter((namespace) => labelsOf(namespace) === undefined);
  if (unknown.length > 0) return no(`namespace ${formatNames(unknown)}`);
  const missing = new Set(names);
  for (const { namespace, name } of missing.size === 0 ? [] : vms) if (scope.includes(namespace)) missing.delete(name);
  if (missing.size > 0) return no(`VM ${formatNames([...missing])}`);
  return owner === undefined || scope.owners.size > 0 ? null : no(`${owner.kind} ${owner.name}`);
}

/** Returns what is to be acted on; null if there is nothing to do. */
function targetOf({ action, patch }: OperationSpec, vm: VmView, vmi: VmiView | undefined): Target | null {
  const { undo } = patch ?? {};
  if (action === 'Patch')
    return undo === undefined || vm.changes.some(({ operation }) => operation === undo) ? vm : null;
  const live = liveVmi(vmi);
  if (isAboutVmi(action)) return live === undefined ? null : { ...live, uid: targetOfVmi(action, live) };
  // A VM whose VMI fails again and again may have none in this moment: it is stopped all the same.
  const isUp = live !== undefined || (action === 'Stop' && runsByItself({ spec: { runStrategy: vm.runStrategy } }));
  return isUp === (action === 'Stop') ? vm : null;
}

type Target = Pick<VmView | VmiView, 'uid' | 'createdAt'>;

/** A pool starts and stops its extra and standby VMs itself: users choose them only by name. */
function lastingMatcher(
  { names, selector, owner, exclude = [] }: VmSelection,
  { includes, owners }: OperationScope,
): (vm: VmView) => boolean {
  const named = names === undefined ? null : new Set(names);
  const excludes = excluderOf(exclude);
  return (vm) =>
    includes(vm.namespace) &&
    (named === null ? vm.role === null : named.has(vm.name)) &&
    !excludes(vm.namespace, vm.name) &&
    (selector === undefined || matchesLabels(selector, vm.ownLabels)) &&
    (owner === undefined || (vm.owner?.kind === owner.kind && owners.has(vm.owner.uid)));
}

function selectionMatcher(selection: VmSelection, scope: OperationScope, plugs: ChoiceInput['plugs']): Matcher {
  const { runState, machineType, restartRequired, launcherOutdated } = selection;
  const matches = lastingMatcher(selection, scope);
  const isOfType = machineType === undefined ? null : globMatcher(machineType);
  return (vm, vmi) =>
    matches(vm) &&
    (runState === undefined || isRunning(vm, vmi) === (runState === 'Running')) &&
    (isOfType === null || (vm.machineType !== null && isOfType(vm.machineType))) &&
    (restartRequired !== true || (vmi !== undefined && restartReasons(vm, vmi, plugs).length > 0)) &&
    (launcherOutdated !== true || vmi?.launcherOutdated === true);
}
