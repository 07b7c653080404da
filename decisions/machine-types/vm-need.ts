import type { RolloutStatus } from '../../api/pool/pool.ts';
import { withDefaults } from '../../api/rules/pool-defaults.ts';
import { namespacedName, type OwningPool, type VmsSnapshot } from '../disruption-budget/restart-budget.ts';
import { deferred, excluded, blockedNeed, NOTHING, type Deferred, type Excluded } from '../disruption/need.ts';
import { whyOptedOut } from '../disruption/reasons.ts';
import { isMeantToRun, isActive, liveVmi } from '../health/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { exceeds } from '../vm-update/disruption.ts';
import { isAlias } from './machine-type.ts';
import { poolTransitionState } from './pool-state.ts';
import {
  groupOf,
  isChangedSince,
  isOfOldAlias,
  isOldVmi,
  isSetBack,
  refusalOf,
  wantedType,
  otherTransitionOn,
  type TransitionRules,
} from './transition-rules.ts';
import type { TypeGroup } from './transition.ts';

/** What one VM needs from a transition. */
export type TransitionNeed =
  /** The VM is not in scope, or neither its spec nor its VMI is old. */
  | { need: 'nothing' }
  /** Changed by this transition; nothing is left to do but to clear its mark, if it has one. */
  | { need: 'done' }
  /**
   * The type is to be set (null: cleared), and recorded. If `setsLabel`, the VM is marked as waiting for a restart;
   * otherwise an existing mark is removed.
   */
  | { need: 'patch'; to: string | null; setsLabel: boolean }
  /** Only the VMI is old: the VM is to be marked and recorded; its spec stays as it is. */
  | { need: 'label' }
  | { need: 'restart'; vmi: VmiView }
  /** The owner is to restart the VM; `why`: what an earlier restart has not achieved. */
  | { need: 'wait'; message: string | null }
  /** The pool is updating the VM, or will; `why`: what keeps the pool from it. */
  | { need: 'pool'; message: string | null }
  /** The pool could not update the VM to the new type. */
  | { need: 'failed'; message: string }
  /** The resulting type is not known yet: a dry run of the VM's group must show it first. */
  | { need: 'check'; group: TypeGroup }
  | Deferred
  | Excluded;

/** Looks up a VM's VMI and its pool. */
type Snapshot = Pick<VmsSnapshot, 'vmiOf' | 'poolOf'>;

const DONE: TransitionNeed = { need: 'done' };

/**
 * Returns what the VM needs now, judged only by what is stored on the VM and its VMI. It is called again right before
 * an action; after any step it returns only what is left to do.
 */
export function transitionNeed(rules: TransitionRules, vm: VmView, snapshot: Snapshot): TransitionNeed {
  // A VM that is leaving the cluster or its pool runs no further VMI.
  if (!isActive(vm) || !rules.scope.isWithin(vm.namespace)) return NOTHING;
  const isOwn = vm.transition?.id === rules.ref.id;
  const vmi = snapshot.vmiOf(vm);
  // The transition follows the VMs that it has changed, even if their labels and state no longer match the scope.
  if (!isOwn && !(rules.scope.chooses(vm) && rules.scope.choosesState(vm, vmi))) return NOTHING;
  const owner = snapshot.poolOf(vm);
  const live = liveVmi(vmi);
  const byPool = owner && needByPool(rules, { vm, live, owner });
  return byPool ?? (isOwn ? needOfChanged(rules, vm, { vmi, owner }) : needOfOther(rules, vm, live));
}

interface Owned {
  vm: VmView;
  live: VmiView | undefined;
  owner: OwningPool;
}

/** Returns undefined if the pool does not matter: the VM is treated like any other. */
function needByPool(rules: TransitionRules, owned: Owned): TransitionNeed | undefined {
  const { vm, live, owner } = owned;
  const state = poolTransitionState(rules, owner);
  const isOld = rules.scope.isOld(vm.machineType) || (live !== undefined && isOldVmi(rules, vm, live));
  if (state.state === 'outOfScope' || !(isOld || rules.undoes !== null)) return undefined;
  if (state.state === 'excluded') return excluded(state.message);
  if (state.state === 'deferred') return deferred(state.message);
  return needInRollout(owned, state.revision);
}

function needInRollout({ vm, live, owner: { pool } }: Owned, revision: string): TransitionNeed | undefined {
  // If a VM is old although its pool has nothing left to do, a user has changed it by hand.
  if (vm.revision === revision && (live === undefined || live.revision === revision)) return undefined;
  // What is left from another revision's rollout says nothing about this one.
  const rollout = pool.status?.rollout?.revision === revision ? pool.status.rollout : undefined;
  return exclusionOf(vm) ?? failureOf(pool, vm, rollout) ?? needBeforeUpdate(pool, live, rollout);
}

/** The need of a VM that its pool has yet to update. */
const needBeforeUpdate = (
  pool: StoredPool,
  live: VmiView | undefined,
  rollout: RolloutStatus | undefined,
): TransitionNeed =>
  rollout?.halted === undefined
    ? { need: 'pool', message: whyNotYet(pool, live) }
    : excluded(`the rollout of ${formatPool(pool)} has ended: ${rollout.halted.kind}`);

const formatPool = ({ metadata }: StoredPool): string => `its pool ${namespacedName(metadata)}`;

function failureOf(pool: StoredPool, vm: VmView, rollout: RolloutStatus | undefined): TransitionNeed | undefined {
  const failure = rollout?.failures.find((one) => one.vm === vm.name);
  return failure && { need: 'failed', message: `${formatPool(pool)} could not update it: ${failure.message}` };
}

/** What keeps the pool from updating the VM; null if nothing does. */
function whyNotYet(pool: StoredPool, live: VmiView | undefined): string | null {
  if (pool.spec.paused === true || pool.status?.rollout?.paused !== undefined) return `${formatPool(pool)} is paused`;
  return live !== undefined && leavesVmis(pool) ? `${formatPool(pool)} leaves restarts to its owner` : null;
}

/** Whether the pool's update strategy never restarts VMIs. */
function leavesVmis({ spec }: StoredPool): boolean {
  const { update } = withDefaults(spec);
  return update.kind === 'opportunistic' || (update.kind === 'proactive' && exceeds('Restart', update.disruption));
}

/** The need of a VM that this transition has changed or marked. That is done only once per VM. */
function needOfChanged(
  rules: TransitionRules,
  vm: VmView,
  { vmi, owner }: { vmi: VmiView | undefined; owner: OwningPool | undefined },
): TransitionNeed {
  if (isSetBack(rules, vm)) return excluded(`${changedSince(vm)}${owner === undefined ? ofOwner(vm) : ''}`);
  const live = liveVmi(vmi);
  // The type that a VMI gets for an alias is unknown until it runs. A VMI that asks for a type gets that, or never
  // runs.
  const isKnown =
    live === undefined ? !isMeantToRun(vm, vmi) : live.machineType !== null || !isAlias(live.specMachineType ?? '');
  if (!isKnown && rules.undoes === null && isAlias(vm.machineType ?? '')) return { need: 'wait', message: null };
  if (live === undefined || !isOldVmi(rules, vm, live)) return DONE;
  // The VMI was started from the old spec while that was being changed.
  if (vm.transition?.vmiType === null) return blockedNeed(vm, live) ?? { need: 'label' };
  if (!rules.transition.restartNow) return { need: 'wait', message: cameBack(vm, live) };
  return blockedNeed(vm, live) ?? { need: 'restart', vmi: live };
}

const changedSince = ({ machineType }: VmView): string => `its machine type was set to ${machineType ?? 'none'} since`;

/** Other controllers create VMs from their own templates, which a transition does not change. */
const ofOwner = ({ owner }: VmView): string =>
  owner === null ? '' : `: perhaps its owner, ${owner.kind} ${owner.name}, whose template drover must not change`;

/** Says that a VMI came back old after a restart; null if it was not restarted. */
function cameBack({ transition, machineType }: VmView, live: VmiView): string | null {
  if (live.machineType === null || transition?.vmiUid === undefined || transition.vmiUid === live.uid) return null;
  const cause = isAlias(machineType ?? '') ? `: ${machineType} still stands for that` : '';
  return `it was restarted, and came back with ${live.machineType}${cause}`;
}

function needOfOther(rules: TransitionRules, vm: VmView, live: VmiView | undefined): TransitionNeed {
  if (isChangedSince(rules, vm)) return excluded(changedSince(vm));
  const wanted = wantedType(rules, vm);
  if (wanted === undefined && (live === undefined || !isOldVmi(rules, vm, live))) return NOTHING;
  const other = otherTransitionOn(rules, vm.transitionLabel, vm.transition?.id);
  if (other !== null) return deferred(other);
  const blocked = blockedNeed(vm, live);
  if (blocked !== null) return blocked;
  if (wanted === undefined) return { need: 'label' };
  const group = groupOf(vm, wanted);
  const result = rules.resultOf(group);
  if (result === undefined) return { need: 'check', group };
  const message = refusalOf(rules, result);
  return message === null
    ? {
        need: 'patch',
        to: wanted,
        setsLabel: live !== undefined && waitsAfter(rules, { vm, live, wanted, to: result.to }),
      }
    : excluded(message);
}

/** Whether the VMI will be old once the VM's spec has the wanted type, which results in the type `to`. */
const waitsAfter = (
  rules: TransitionRules,
  { vm, live, wanted, to }: { vm: VmView; live: VmiView; wanted: string | null; to: string },
): boolean =>
  rules.undoes === null ? isOldVmi(rules, vm, live) || isOfOldAlias(rules, live, to) : live.specMachineType !== wanted;

/** What the owner has set on the VM that keeps the pool from updating it; undefined if there is none. */
const exclusionOf = (vm: VmView): TransitionNeed | undefined => (vm.optedOut ? excluded(whyOptedOut(vm)) : undefined);
