import { isActive, isMeantToRun, isRestarting, liveVmi } from '../disruption-budget/availability.ts';
import { namespacedName, type OwningPool } from '../disruption-budget/restart-budget.ts';
import { whyNotNow } from '../disruption/reasons.ts';
import { revisionOf } from '../revisions/hash.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';
import type { PowerAction } from './action.ts';

/** What one chosen VM needs. */
export type PowerNeed =
  | { need: 'nothing' }
  | { need: 'act' }
  /** It can't be touched now. */
  | { need: 'later'; why: string }
  /** Its owner, or its run strategy, does not allow it. */
  | { need: 'left'; why: string };

/** A chosen VM as it stands. */
export interface PowerContext {
  /** The UID that it was chosen by: of its VMI for a restart, else of the VM. */
  target: string;
  vm: VmView | undefined;
  vmi: VmiView | undefined;
  owner: OwningPool | undefined;
}

/**
 * Run strategies under which KubeVirt starts and stops a VM by changing the strategy, not by a request in its status.
 */
const IS_SWITCHED = new Set(['Always', 'Once', 'Halted']);

/** Returns what the VM needs; nothing if another VM has its name by now, or if somebody else has done it. */
export function powerNeed(action: PowerAction, context: PowerContext): PowerNeed {
  const { vm } = context;
  if (vm === undefined || !isActive(vm)) return { need: 'nothing' };
  if (action === 'Restart') return restartNeed(vm, context);
  if (vm.uid !== context.target) return { need: 'nothing' };
  return action === 'Start' ? startNeed(vm, context) : stopNeed(vm, context);
}

/** A VMI is restarted only once: if the VM has another VMI by now, or none, nothing is left to do, whoever did it. */
function restartNeed(vm: VmView, { target, vmi, owner }: PowerContext): PowerNeed {
  const live = liveVmi(vmi);
  if (live?.uid !== target || !isMeantToRun(vm, live)) return { need: 'nothing' };
  const blocked = blockedBy(vm, live);
  if (blocked !== null) return blocked;
  if (owner !== undefined && isRollingOut(owner))
    return { need: 'later', why: `its pool ${namespacedName(owner.pool.metadata)} is rolling out` };
  // The next VMI would start from the spec that KubeVirt has observed.
  if (!vm.generationObserved) return { need: 'later', why: 'KubeVirt has not observed its spec' };
  return { need: 'act' };
}

/** Starting a VM disrupts nothing, so neither the do-not-disrupt annotation nor a rollout of its pool prevents it. */
function startNeed(vm: VmView, { vmi }: PowerContext): PowerNeed {
  // Under Manual, a VM that somebody has just stopped looks the same.
  if (isRestarting(vm, vmi) && vmi !== undefined) return { need: 'later', why: 'it is stopping or restarting' };
  if (isMeantToRun(vm, vmi)) return { need: 'nothing' };
  const blocked = blockedBy({ ...vm, optedOut: false }, undefined);
  if (blocked !== null) return blocked;
  // KubeVirt refuses these.
  if (vm.runStrategy === 'Once') return { need: 'left', why: 'its run strategy is Once, and it has run' };
  if (vmi !== undefined && !isFinal(vmi)) return { need: 'later', why: 'its last VMI has not stopped yet' };
  return { need: 'act' };
}

function stopNeed(vm: VmView, { vmi }: PowerContext): PowerNeed {
  if (!isMeantToRun(vm, vmi)) return { need: 'nothing' };
  const live = liveVmi(vmi);
  const blocked = blockedBy(vm, live);
  if (blocked !== null) return blocked;
  // KubeVirt refuses that.
  if (live === undefined && !IS_SWITCHED.has(vm.runStrategy)) return { need: 'later', why: 'it has no VMI yet' };
  return { need: 'act' };
}

function blockedBy(vm: VmView, live: VmiView | undefined): PowerNeed | null {
  const reason = whyNotNow(vm, live);
  return reason === null ? null : { need: reason.kind === 'OptedOut' ? 'left' : 'later', why: reason.why };
}

/** Computed once per pool, not once for each of its VMs. */
const rolling = new WeakMap<StoredPool, boolean>();

/**
 * A rollout restarts its VMs itself, so they would go down twice. A rollout that waits for a person, a step or a window
 * does not count.
 */
function isRollingOut({ pool }: OwningPool): boolean {
  const known = rolling.get(pool);
  if (known !== undefined) return known;
  const { spec, status } = pool;
  const reason = status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
  const found =
    status?.updateRevision !== revisionOf(poolTemplate(spec)) || reason === 'RollingOut' || reason === 'Undoing';
  rolling.set(pool, found);
  return found;
}
