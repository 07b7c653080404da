import { POOL_FINALIZER } from '../../api/labels-and-annotations.ts';
import { scaleInRules, standbyRules, type ScaleInRules } from '../../api/rules/pool-defaults.ts';
import { isActive } from '../health/availability.ts';
import { earlier } from '../lib/earlier-and-later.ts';
import { allowanceOf, mayTry, refusedOf, type FailureReason } from '../owners/failures.ts';
import { refusedLast } from '../owners/refused-vms.ts';
import { leavingVms, RemovalLimit } from '../owners/removal-limit.ts';
import { nameOf, targets, vmNames, type RemovalCause } from '../owners/steps.ts';
import { namedAmong } from '../views/annotations/named-vms.ts';
import type { StoredPool } from '../views/pool.ts';
import { isHalted, isRegular, isStandby, type RegularVm, type VmView, type StandbyVm } from '../views/vm.ts';
import { chooseLeaving, leavingOrder, type CandidatesInput } from './choice.ts';
import { BY_NAME } from './removal-check.ts';
import { deletion, finishRemovals, halting, planEnd } from './removal.ts';
import type { ScaleInput, ScaleStep } from './scale-input.ts';
import { comingBack, refill, scaleOut } from './scale-out.ts';
import { scaleInOrder } from './selection-order.ts';
import { chooseToPromote } from './standby/promotion.ts';
import { settleStandby, type Settling } from './standby/settle.ts';
import { blockedSurplus, hasSurplusStandby, mayLeave, scaleInWindow, type BlockedSurplus } from './surplus.ts';
import { keepsDisks } from './unverified-removal.ts';

export interface ScalePlan {
  steps: ScaleStep[];
  /** Steps that are due as well, and that others go before. */
  deferred: ScaleStep[];
  /** VMs that are more than the pool wants, and stay; null if there are none. */
  blocked: BlockedSurplus | null;
  /** How many VMs are to leave, and wait until others have gone. */
  waiting: number;
  /**
   * When to look again, in milliseconds since the epoch: a window opens, or VMs that do not go hold up no more others.
   */
  requeueAt: number | null;
}

const NOTHING: ScalePlan = { steps: [], deferred: [], blocked: null, waiting: 0, requeueAt: null };
const ADD_FINALIZER: ScaleStep = { kind: 'addFinalizer', reason: 'the pool must not go before its VMs' };

/** Returns steps towards the number of VMs that the pool's spec wants. */
export function planScale(input: ScaleInput): ScalePlan {
  const { pool, inProgress, removals, burstToFinish } = input;
  if (!pool.metadata.finalizers?.includes(POOL_FINALIZER))
    return mayTry(input, 'FailedFinalizer') ? { ...NOTHING, steps: [ADD_FINALIZER] } : NOTHING;
  const members = membersOf(input);
  const { active, ownNames, isNamed } = members;
  const rules = rulesOf(pool);
  const window = scaleInWindow(rules, input.now);
  const limit = removalLimitIn(input);
  const toFinish = burstToFinish === input.burst ? limit : removalLimitIn({ ...input, burst: burstToFinish });
  const steps: ScaleStep[] = [
    ...finishRemovals(input, toFinish),
    ...removeNamed(input, members.staying.filter(isNamed), limit),
    ...forgetRemoved(input),
  ];
  const missing = missingIn(input, members);
  // VMs still to come don't make existing VMs surplus: before creating them, an activity checks whether they are still
  // wanted.
  const excess = active.length - pool.spec.replicas;
  const mayLeave = removals.fault === null && window.open;
  const promoted = missing > 0 ? promotion(input, missing, members) : NO_PROMOTION;
  steps.push(...promoted.steps);
  if (missing > promoted.covered)
    steps.push(
      ...scaleOut(input, missing - promoted.covered, ownNames, {
        promoted: promoted.names.size,
        others: presentIn(input, members) + promoted.covered,
      }),
    );
  else if (excess > 0 && mayLeave) steps.push(...scaleIn(input, active, excess, limit));
  const refilling = refill(input, members.pendingNonReplicas, ownNames);
  // Replicas have priority: a quota that has little room left has it for them.
  const isDeferred = missing > 0 || inProgress.creating.length > 0;
  if (!isDeferred) steps.push(...refilling);
  const standby = remainingStandby(input, members, promoted);
  if (mayLeave) steps.push(...removeSurplusStandby(input, standby, limit));
  const settling = settle(input, steps);
  const blocked = blockedSurplus({ ...input, rules, active, standby, fault: removals.fault });
  const requeueAt = !window.open && (excess > 0 || hasSurplusStandby({ pool, standby })) ? window.next : null;
  return {
    steps: [...steps, ...settling.steps],
    deferred: isDeferred ? refilling : [],
    blocked,
    waiting: limit.waiting,
    requeueAt: [requeueAt, settling.requeueAt, limit.requeueAt].reduce(earlier),
  };
}

interface Members {
  /** Names of VMs that exist, and of these and all that are being made or about to be. */
  existing: ReadonlySet<string>;
  ownNames: ReadonlySet<string>;
  /** How many replicas, and how many others, are being made or about to be. */
  pendingReplicas: number;
  pendingNonReplicas: number;
  /** VMs that are not about to leave, and the replicas among them that users have not asked to remove. */
  staying: VmView[];
  active: RegularVm[];
  /** Whether users have asked to remove the VM. */
  isNamed: (vm: VmView) => boolean;
}

function membersOf({ vms, inProgress, removals, pendingNonReplicas, reserved, pendingCreates }: ScaleInput): Members {
  const leaving = new Set(inProgress.deleting);
  const existing = new Set(vms.map(nameOf));
  const isPending = (name: string): boolean => !existing.has(name);
  const replicas = new Set([...inProgress.creating, ...reserved, ...pendingCreates].filter(isPending));
  for (const name of pendingNonReplicas) replicas.delete(name);
  const others = new Set([...(inProgress.standby ?? []), ...pendingNonReplicas].filter(isPending));
  const staying = vms.filter((vm) => isActive(vm) && !leaving.has(vm.name));
  const isNamed = namedAmong(removals);
  return {
    existing,
    ownNames: new Set([...existing, ...replicas, ...others]),
    pendingReplicas: replicas.size,
    pendingNonReplicas: others.size,
    staying,
    active: staying.filter(isRegular).filter((vm) => !isNamed(vm)),
    isNamed,
  };
}

/** A terminating VM still holds its name, disks and place: the pool never has more VMs than it wants. */
const presentIn = ({ vms }: ScaleInput, { pendingReplicas }: Members): number =>
  vms.filter(isRegular).length + pendingReplicas;

function missingIn(input: ScaleInput, members: Members): number {
  const missing = input.pool.spec.replicas - presentIn(input, members);
  return Math.max(missing, comingBack(input, input.first, input.inProgress.creating));
}

const remainingStandby = ({ reserved }: ScaleInput, { staying, isNamed }: Members, { names }: Promoted): StandbyVm[] =>
  staying.filter(isStandby).filter((vm) => !isNamed(vm) && !names.has(vm.name) && !reserved.has(vm.name));

interface Promoted {
  steps: ScaleStep[];
  names: ReadonlySet<string>;
  /** How many of the missing VMs are not to be created. */
  covered: number;
}

const NO_PROMOTION: Promoted = { steps: [], names: new Set(), covered: 0 };

/** A VM that healing replaces comes back under its own number. All others that are missing may be any. */
function promotion(input: ScaleInput, missing: number, { existing, isNamed }: Members): Promoted {
  const { replicas } = input.pool.spec;
  const back = input.first.filter((name) => !existing.has(name)).length;
  const { now, soon } = chooseToPromote({ ...input, isNamed }, missing - back);
  const names = new Set(now.map(nameOf));
  const reason = `promote ${vmNames(now)} from standby: ${missing} missing of ${replicas}`;
  return {
    steps: now.length === 0 ? [] : [{ kind: 'promoteStandby', vms: targets(now), reason }],
    names,
    covered: Math.min(now.length + soon, Math.max(missing - back, 0)),
  };
}

function removeSurplusStandby(input: ScaleInput, standby: readonly StandbyVm[], limit: RemovalLimit): ScaleStep[] {
  const { replicas } = standbyRules(input.pool.spec);
  const excess = standby.length - replicas;
  if (excess <= 0) return [];
  const leaving = leavingOrder(candidates(input, standby)).slice(0, excess);
  const message = `${excess} more than the ${replicas} wanted as standby`;
  return removal(input, limit.admit(free(input, leaving)), 'StandbySurplus', message);
}

/**
 * Starts, stops or pauses standby VMs as the pool requires, except VMs that other steps, also of this plan, work on.
 */
function settle(input: ScaleInput, steps: readonly ScaleStep[]): Settling {
  const { inProgress, unhealthy, batches } = input;
  const busy = new Set([
    ...inProgress.creating,
    ...inProgress.deleting,
    ...(inProgress.standby ?? []),
    ...unhealthy,
    ...batches.flatMap(({ vms }) => vms.map(({ name }) => name)),
    ...steps.flatMap((step) => ('vms' in step ? step.vms.map(({ name }) => name) : [])),
  ]);
  return settleStandby({ ...input, busy });
}

const rulesOf = ({ spec }: StoredPool): ScaleInRules => scaleInRules(spec.scaleInStrategy);

function scaleIn(input: ScaleInput, active: readonly RegularVm[], excess: number, limit: RemovalLimit): ScaleStep[] {
  const { pool } = input;
  const leaving = chooseLeaving({ ...candidates(input, active), pool, active, excess });
  const message = `${excess} more than the ${pool.spec.replicas} wanted`;
  const because = rulesOf(pool).kind === 'opportunistic' ? 'SurplusHalted' : 'Surplus';
  return removal(input, limit.admit(free(input, leaving)), because, message);
}

/** The members of a role among which a scale-in chooses: the strategy of the pool is that of standby VMs, too. */
function candidates(input: ScaleInput, active: readonly VmView[]): CandidatesInput {
  const { pool, vmiOf, zoneOf = () => null, reserved, unhealthy, target } = input;
  const rules = rulesOf(pool);
  const policy = rules.kind === 'proactive' ? rules.selectionPolicy : {};
  const isFree = (vm: VmView): boolean => !reserved.has(vm.name) && mayLeave({ rules, vmiOf }, vm);
  return { vmiOf, zoneOf, policy, active, mayLeave: isFree, unhealthy, target };
}

/**
 * Removes the VMs that users have named, whatever the pool's number, strategy or windows: that was asked for of these
 * VMs. Protecting one of them later is refused.
 */
function removeNamed(input: ScaleInput, named: readonly VmView[], limit: RemovalLimit): ScaleStep[] {
  const isKept = namedAmong(input.removals, true);
  const leaving = named.filter((vm) => !isKept(vm));
  return [
    ...detach(input, named.filter(isKept), limit),
    ...removal(input, limit.admit(free(input, leaving)), 'Named', BY_NAME),
  ];
}

function detach(input: ScaleInput, kept: readonly VmView[], limit: RemovalLimit): ScaleStep[] {
  const tried = free(input, kept, 'FailedRelease').slice(0, allowanceOf(input, 'FailedRelease'));
  const vms = limit.release(tried);
  const reason = `detach ${vmNames(vms)}: ${BY_NAME}`;
  return vms.length === 0 ? [] : [{ kind: 'release', vms: targets(vms), because: 'Named', reason }];
}

/** Takes VMs off the list of those to remove once the pool has them no more. */
function forgetRemoved({ vms, removals }: ScaleInput): ScaleStep[] {
  const uids = new Set(vms.map(({ uid }) => uid));
  const gone = [...removals.vms].map(([name, { uid }]) => ({ name, uid })).filter(({ uid }) => !uids.has(uid));
  const reason = `take ${vmNames(gone)} from the list of VMs to remove: the pool no longer has them`;
  return gone.length === 0 ? [] : [{ kind: 'clearNamedRemovals', vms: gone, reason }];
}

/** The VMs in the order to try them. One that is still being created is deleted afterwards. */
const free = (input: ScaleInput, vms: readonly VmView[], failure: FailureReason = 'FailedDelete'): VmView[] =>
  refusedLast(vms, nameOf, refusedOf(input, failure)).filter(({ name }) => !input.inProgress.creating.includes(name));

function removal(
  { pool }: ScaleInput,
  chosen: readonly VmView[],
  because: RemovalCause['because'],
  message: string,
): ScaleStep[] {
  return keepsDisks(pool) ? leaveDisks(chosen, because, message) : deletion(chosen, false, because, message);
}

/** Halts running VMs first: disks are released only once no VMI writes to them. */
function leaveDisks(chosen: readonly VmView[], because: RemovalCause['because'], message: string): ScaleStep[] {
  const halted = chosen.filter(isHalted);
  const running = chosen.filter((vm) => !isHalted(vm));
  return [...deletion(halted, true, because, message), ...halting(running, because, message)];
}

/** Plans the end of a deleted pool: its VMs are deleted first, or released. */
export function planDeletion(input: ScaleInput): ScalePlan {
  const { pool, vms, vmiOf } = input;
  const rules = rulesOf(pool);
  const policy = rules.kind === 'proactive' ? rules.selectionPolicy : undefined;
  const limit = removalLimitIn(input);
  const end = {
    ...input,
    owner: pool,
    finalizer: POOL_FINALIZER,
    what: 'pool' as const,
    order: scaleInOrder(vms, { policy }),
    lost: new Set(vms.filter((vm) => vmiOf(vm)?.nodeLost === true).map(nameOf)),
  };
  const steps = planEnd(end, limit);
  return { ...NOTHING, steps, waiting: limit.waiting, requeueAt: limit.requeueAt };
}

const removalLimitIn = (input: ScaleInput): RemovalLimit => new RemovalLimit(leavingVms(input.vms, input.vmiOf), input);
