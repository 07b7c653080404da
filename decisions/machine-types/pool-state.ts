import { withDefaults } from '../../api/rules/pool-defaults.ts';
import { namespacedName, type OwningPool, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { isActive } from '../health/availability.ts';
import { field } from '../lib/json.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import { vmName } from '../template/vm-names.ts';
import { recordOf } from '../views/annotations/transition-record.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import {
  groupOf,
  isChangedSince,
  isSetBack,
  refusalOf,
  wantedType,
  otherTransitionOn,
  type TransitionRules,
} from './transition-rules.ts';
import type { PoolTransitionState, TypeGroup } from './transition.ts';

type Snapshot = Pick<VmsSnapshot, 'vmiOf'>;

export function poolTransitionState(
  rules: TransitionRules,
  owner: OwningPool,
  snapshot: Snapshot,
): PoolTransitionState {
  const { uid } = owner.pool.metadata;
  const state = rules.pools?.get(uid) ?? stateOf(rules, owner, snapshot);
  rules.pools?.set(uid, state);
  return state;
}

/** The machine type in a pool's template; null if the template leaves it to KubeVirt. */
export function templateTypeOf({ spec }: Pick<StoredPool, 'spec'>): string | null {
  const type = field(spec.template, 'spec', 'template', 'spec', 'domain', 'machine', 'type');
  return typeof type === 'string' && type !== '' ? type : null;
}

function stateOf(rules: TransitionRules, owner: OwningPool, snapshot: Snapshot): PoolTransitionState {
  const { pool } = owner;
  const { undoes } = rules;
  const poolName = `pool ${namespacedName(pool.metadata)}`;
  if (pool.metadata.deletionTimestamp !== undefined)
    return { state: 'deferred', message: `its ${poolName} is being deleted` };
  const machineType = templateTypeOf(pool);
  const record = recordOf(pool.metadata.annotations);
  const typed = { machineType, transition: record };
  const since = `the machine type of its ${poolName} was set to ${machineType ?? 'none'} since`;
  const isOwn = record?.id === rules.ref.id;
  if (isOwn ? isSetBack(rules, typed) : isChangedSince(rules, typed)) return { state: 'excluded', message: since };
  const isUnmanaged = withDefaults(pool.spec).update.kind === 'unmanaged';
  const wanted = isOwn ? undefined : wantedType(rules, typed);
  if (wanted !== undefined) return stateOfOld(rules, owner, { wanted, isUnmanaged, holder: record?.id, snapshot });
  // The pool is rolling out the change of another transition, which follows its VMs.
  const other = undoes === null ? otherTransitionOn(rules, record?.id) : null;
  if (other !== null) return { state: 'deferred', message: other };
  const bringsType = isOwn || (undoes === null && machineType !== null && !isUnmanaged);
  return bringsType
    ? { state: 'rolls', revision: revisionOf(poolTemplate(pool.spec)), isOwn }
    : { state: 'outOfScope' };
}

interface OldTemplate {
  wanted: string | null;
  isUnmanaged: boolean;
  /** Id of the transition that last changed the template. */
  holder: string | undefined;
  snapshot: Snapshot;
}

function stateOfOld(
  rules: TransitionRules,
  owner: OwningPool,
  { wanted, isUnmanaged, holder, snapshot }: OldTemplate,
): PoolTransitionState {
  const { pool } = owner;
  const poolName = `pool ${namespacedName(pool.metadata)}`;
  const vms = owner.vms().filter(isActive);
  const chosen = vms.filter((vm) => rules.scope.chooses(vm) && rules.scope.choosesState(vm, snapshot.vmiOf(vm)));
  const isChosen = vms.length > 0 ? chosen.length > 0 : choosesEmpty(rules, pool);
  if (!isChosen) return { state: 'outOfScope' };
  if (isUnmanaged)
    return {
      state: 'excluded',
      message: `its ${poolName} makes VMs of the old type, and is unmanaged: change its template first`,
    };
  if (!rules.transition.templates)
    return { state: 'excluded', message: `the template of its ${poolName} has the old type, and is not to be changed` };
  if (chosen.length < vms.length) return { state: 'excluded', message: `${poolName} has VMs that were not chosen` };
  const other = otherTransitionOn(rules, holder);
  if (other !== null) return { state: 'deferred', message: other };
  return stateOfResults(rules, chosen, wanted) ?? { state: 'change', to: wanted };
}

/**
 * Returns what must be checked, or speaks against the change, given the resulting types of its VMs; undefined if
 * nothing does.
 */
function stateOfResults(
  rules: TransitionRules,
  vms: readonly VmView[],
  wanted: string | null,
): PoolTransitionState | undefined {
  const groups: TypeGroup[] = [];
  for (const vm of vms) {
    // The pool skips VMs whose owners opted out of disruption.
    if (vm.optedOut || (rules.undoes === null && !rules.scope.isOld(vm.machineType))) continue;
    const group = groupOf(vm, wanted);
    const result = rules.resultOf(group);
    const message = result === undefined ? null : refusalOf(rules, result);
    if (message !== null) return { state: 'excluded', message };
    if (result === undefined) groups.push(group);
  }
  return groups.length > 0 ? { state: 'check', groups } : undefined;
}

/** Whether a pool without VMs is in scope: judged by the first VM that it would create. */
function choosesEmpty(
  { scope, transition }: TransitionRules,
  { metadata: { namespace, name }, spec }: StoredPool,
): boolean {
  const ownLabels = spec.template.metadata?.labels ?? {};
  return transition.scope.only === null && scope.chooses({ namespace, name: vmName(name, 1), ownLabels });
}
