import { namespacedName, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { liveVmi } from '../health/availability.ts';
import type { NodeView } from '../views/node.ts';
import type { VmView } from '../views/vm.ts';
import { groupKey, groupOf, wantedType, type TransitionRules } from './transition-rules.ts';
import type { TransitionResult, TypeGroup } from './transition.ts';
import { transitionNeed, type TransitionNeed } from './vm-need.ts';

/** A group of VMs whose resulting type is not known yet. */
export interface WantedResult {
  group: TypeGroup;
  vms: number;
  /** One of the VMs, by `namespace/name`: a dry run on it shows the type of all. */
  sample: string;
}

/** Returns the groups of VMs that are to be changed, or will be once they can, and that have no result yet. */
export function wantedResults(
  rules: TransitionRules,
  vms: Iterable<VmView>,
  snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>,
): WantedResult[] {
  const groups = new Map<string, WantedResult>();
  for (const vm of vms) {
    const need = transitionNeed(rules, vm, snapshot);
    const deferred = need.need === 'deferred' ? later(rules, vm) : undefined;
    const group = need.need === 'check' ? need.group : deferred;
    if (group === undefined || rules.resultOf(group) !== undefined) continue;
    const known = groups.get(groupKey(group)) ?? { group, vms: 0, sample: namespacedName(vm) };
    groups.set(groupKey(group), { ...known, vms: known.vms + 1 });
  }
  return [...groups.values()];
}

/**
 * Counts the VMs whose VMIs the transition itself may restart, without VMs that their pools update within their own
 * budgets.
 */
export function restartable(
  rules: TransitionRules,
  vms: Iterable<VmView>,
  snapshot: Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>,
): number {
  let count = 0;
  for (const vm of vms)
    if (!STAYS.has(transitionNeed(rules, vm, snapshot).need) && liveVmi(snapshot.vmiOf(vm)) !== undefined) count++;
  return count;
}

const STAYS = new Set<TransitionNeed['need']>(['nothing', 'excluded', 'failed', 'pool']);

function later(rules: TransitionRules, vm: VmView): TypeGroup | undefined {
  const wanted = wantedType(rules, vm);
  return wanted === undefined ? undefined : groupOf(vm, wanted);
}

/** Says in a few words why a resulting type is not acceptable; null if it is. */
export function faultOf(
  { scope, transition }: Pick<TransitionRules, 'scope' | 'transition'>,
  to: string,
  nodes: Iterable<Pick<NodeView, 'schedulable' | 'machineTypes'>>,
): string | null {
  const { glob, undoes } = transition.scope;
  if (undoes === null && scope.isOld(to)) {
    const cause = transition.to === null ? ': a preference, or the default of the cluster, brings it back' : '';
    return `it still matches ${glob}${cause}`;
  }
  const typed = [...nodes].filter(({ machineTypes }) => machineTypes.length > 0);
  const isKnown =
    to === '' ||
    typed.length === 0 ||
    typed.some(({ schedulable, machineTypes }) => schedulable && machineTypes.includes(to));
  return isKnown ? null : `no schedulable node has ${to}`;
}

/** Says in one sentence why VMs block a transition, and what to do about it. For results with a fault. */
export function formatFault({ from, to, architecture, preference, vms, fault }: TransitionResult): string {
  const of = [architecture, preference].filter((one) => one !== null).join(', ');
  const whose = `${vms} ${vms === 1 ? 'VM' : 'VMs'} with ${from}${of === '' ? '' : ` (${of})`}`;
  return `${whose} would get ${to === '' ? 'the default' : to}: ${fault}; choose another type with --to, or leave them out with --exclude; with --force KubeVirt judges each of them`;
}
