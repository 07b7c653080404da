import { conditionOf } from '../../api/objects.ts';
import { namespacedName, type OwningPool } from '../disruption-budget/restart-budget.ts';
import { deferred, excluded, blockedNeed, NOTHING, type Need } from '../disruption/need.ts';
import { reasonsOf } from '../disruption/reasons.ts';
import { isActive, isMeantToRun, isRestarting, liveVmi } from '../health/availability.ts';
import { revisionOf } from '../template/revision.ts';
import { poolTemplate } from '../template/template.ts';
import { whyTemplated } from '../template/why-templated.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { canBeMigrated, isFinal, type VmiView } from '../views/vmi.ts';
import type { PowerAction } from './action.ts';
import { targetOfVmi } from './target.ts';

/** A chosen VM as it stands. */
export interface PowerContext {
  /** What it was chosen by: its VMI, as `targetOfVmi` names it, for a restart or a migration, else the VM's UID. */
  target: string;
  vm: VmView | undefined;
  vmi: VmiView | undefined;
  owner: OwningPool | undefined;
}

/**
 * Run strategies under which KubeVirt starts and stops a VM by changing the strategy, not by a request in its status.
 */
const IS_SWITCHED = new Set(['Always', 'Once', 'Halted']);

/** Returns what the VM needs; nothing if another VM has its name now, or if another client has done it. */
export function powerNeed(action: PowerAction, context: PowerContext): Need {
  const { vm } = context;
  if (vm === undefined || !isActive(vm)) return NOTHING;
  if (action === 'Restart') return restartNeed(vm, context);
  if (action === 'Migrate') return migrateNeed(vm, context);
  if (vm.uid !== context.target) return NOTHING;
  if (action === 'Patch') return patchNeed(vm);
  return action === 'Start' ? startNeed(vm, context) : stopNeed(vm, context);
}

/** A VMI is restarted only once: if the VM has another VMI, or none, nothing is left to do, whatever restarted it. */
function restartNeed(vm: VmView, { target, vmi, owner }: PowerContext): Need {
  const live = liveVmi(vmi);
  if (live?.uid !== target || !isMeantToRun(vm, live)) return NOTHING;
  const blocked = blockedNeed(vm, live);
  if (blocked !== null) return blocked;
  if (owner !== undefined && isRollingOut(owner)) return deferred(rollsOut(owner));
  // The next VMI would start from the spec that KubeVirt has observed.
  if (!vm.generationObserved) return deferred('KubeVirt has not observed its spec');
  return { need: 'act' };
}

/** A VMI is migrated once: if it has left its pod, nothing is left to do, whatever moved it. */
function migrateNeed(vm: VmView, { target, vmi, owner }: PowerContext): Need {
  const live = liveVmi(vmi);
  if (live === undefined || targetOfVmi('Migrate', live) !== target || !isMeantToRun(vm, live)) return NOTHING;
  const blocked = blockedNeed(vm, live);
  if (blocked !== null) return blocked;
  if (owner !== undefined && isRollingOut(owner)) return deferred(rollsOut(owner));
  if (live.phase !== 'Running') return deferred(`its VMI is ${live.phase || 'about to start'}`);
  if (canBeMigrated(live)) return { need: 'act' };
  return excluded(`KubeVirt can't migrate it${live.whyNotMigratable === null ? '' : `: ${live.whyNotMigratable}`}`);
}

const rollsOut = ({ pool }: OwningPool): string => `its pool ${namespacedName(pool.metadata)} is rolling out`;

/** Starting a VM disrupts nothing, so neither the do-not-disrupt annotation nor a rollout of its pool prevents it. */
function startNeed(vm: VmView, { vmi }: PowerContext): Need {
  // Under Manual, a VM that a user has just stopped looks the same.
  if (isRestarting(vm, vmi) && vmi !== undefined) return deferred('it is stopping or restarting');
  if (isMeantToRun(vm, vmi)) return NOTHING;
  const blocked = blockedNeed({ ...vm, optedOut: false }, undefined);
  if (blocked !== null) return blocked;
  // KubeVirt refuses these.
  if (vm.runStrategy === 'Once') return excluded('its run strategy is Once, and it has run');
  if (vmi !== undefined && !isFinal(vmi)) return deferred('its last VMI has not stopped yet');
  return { need: 'act' };
}

function stopNeed(vm: VmView, { vmi }: PowerContext): Need {
  if (!isMeantToRun(vm, vmi)) return NOTHING;
  const live = liveVmi(vmi);
  const blocked = blockedNeed(vm, live);
  if (blocked !== null) return blocked;
  // KubeVirt refuses that.
  if (live === undefined && !IS_SWITCHED.has(vm.runStrategy)) return deferred('it has no VMI yet');
  return { need: 'act' };
}

/** KubeVirt refuses to change a VM meanwhile. */
const KEEP_SPEC: ReadonlySet<string> = new Set(['Snapshot', 'Restore']);

/** A change by itself disrupts nothing, and what it changes is seen when the VM itself is read. */
function patchNeed(vm: VmView): Need {
  const message = whyTemplated(vm.owner);
  if (message !== null) return excluded(message);
  const blocked = reasonsOf(vm, undefined).find(({ kind }) => KEEP_SPEC.has(kind));
  return blocked === undefined ? { need: 'act' } : deferred(blocked.message);
}

/** Computed once per pool, not once for each of its VMs. */
const rolling = new WeakMap<StoredPool, boolean>();

/**
 * A rollout restarts its VMs itself, so they would go down twice. A rollout that waits for a user, a step or a window
 * does not count.
 */
function isRollingOut({ pool }: OwningPool): boolean {
  const known = rolling.get(pool);
  if (known !== undefined) return known;
  const { spec, status } = pool;
  const reason = conditionOf(status, 'Progressing')?.reason;
  const found =
    status?.updateRevision !== revisionOf(poolTemplate(spec)) || reason === 'RollingOut' || reason === 'Undoing';
  rolling.set(pool, found);
  return found;
}
