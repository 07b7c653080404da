import { ORPHAN_FINALIZER, POOL_FINALIZER } from '../api/names.ts';
import type { PoolStatus, ScaleInStrategy, SelectionPolicy } from '../api/pool.ts';
import { freeNumbers, namesInWords, vmName } from './naming.ts';
import { poolStatus, saysTheSame, type Failure } from './pool-status.ts';
import { scaleInOrder } from './selection.ts';
import type { StoredPool } from './vm-from-template.ts';
import { isHalted, type VmView } from './vm.ts';

/** One VM that a step is about: the UID keeps another of its name safe, the version one that has changed since. */
export interface Target {
  name: string;
  uid: string;
  resourceVersion: string;
}

/** What is to be done next, each with its reason as a person reads it. */
export type PoolStep =
  | { kind: 'hold'; reason: string }
  | { kind: 'let-go'; reason: string }
  | { kind: 'create'; numbers: number[]; reason: string }
  | { kind: 'delete'; vms: Target[]; keepDisks: boolean; reason: string }
  | { kind: 'halt'; vms: Target[]; reason: string }
  | { kind: 'release'; vms: Target[]; reason: string };

export interface PoolPlanInput {
  pool: StoredPool;
  /** All VMs that the pool owns, those that are going included. */
  vms: readonly VmView[];
  /** A VM of this name exists in the pool's namespace and is not the pool's. */
  isHeldByOther: (name: string) => boolean;
  /** Names that activities are working on in this moment. */
  underWay: { creating: readonly string[]; deleting: readonly string[] };
  /** VMs that may be in flight at once, creations and deletions each. */
  burst: number;
  /** VMs that may be begun with now: fewer than `burst` after a failure, none while its delay runs. */
  allowance: number;
  failure: Failure | null;
}

export interface PoolPlan {
  steps: PoolStep[];
  /** The status to write, or null where the stored one says it already. */
  status: PoolStatus | null;
  /** The failure that still stands: one to create passes when nothing is missing, one to delete when nothing is too many. */
  failure: Failure | null;
  phase: 'Steady' | 'Starting' | 'ScalingOut' | 'ScalingIn' | 'Deleting';
  counts: PoolCounts;
}

export interface PoolCounts {
  wanted: number;
  present: number;
  ready: number;
  updated: number;
  /** By KubeVirt's printable status. */
  byState: Record<string, number>;
}

/** The next steps towards what the pool's spec says: never more than the limits allow, none where all is as it should be. */
export function planPool(input: PoolPlanInput): PoolPlan {
  const { pool, vms } = input;
  const steps = pool.metadata.deletionTimestamp === undefined ? planScale(input) : planDeletion(input);
  const failure = stillStands(input) ? input.failure : null;
  const status = poolStatus(pool, vms, failure);
  const counts = { ...countsOf(status), wanted: pool.spec.replicas, present: vms.length, byState: byState(vms) };
  return { steps, failure, status: saysTheSame(pool.status, status) ? null : status, phase: phaseOf(input), counts };
}

const countsOf = ({ readyReplicas = 0, updatedReplicas = 0 }: PoolStatus) => ({ ready: readyReplicas, updated: updatedReplicas });

function byState(vms: readonly VmView[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of vms) counts[state || 'New'] = (counts[state || 'New'] ?? 0) + 1;
  return counts;
}

function stillStands({ failure, pool, vms }: PoolPlanInput): boolean {
  const wanted = pool.metadata.deletionTimestamp === undefined ? pool.spec.replicas : 0;
  return failure?.reason === 'FailedCreate' ? vms.length < wanted : vms.length > wanted;
}

function planScale(input: PoolPlanInput): PoolStep[] {
  const { pool, vms, underWay } = input;
  if (!pool.metadata.finalizers?.includes(POOL_FINALIZER)) return [{ kind: 'hold', reason: 'the pool must not go before its VMs' }];
  const leaving = new Set(underWay.deleting);
  const present = new Set(vms.map((vm) => vm.name));
  const coming = underWay.creating.filter((name) => !present.has(name));
  const staying = vms.filter((vm) => !vm.deleting && !vm.removing && !leaving.has(vm.name));
  const wanted = pool.spec.replicas;
  const steps = finishRemovals(input);

  // A VM that is going still holds its name, its disks and its place: the pool never has more VMs than it wants.
  const missing = wanted - present.size - coming.length;
  const excess = staying.length + coming.length - wanted;
  if (missing > 0) steps.push(...scaleOut(input, missing, new Set([...present, ...coming])));
  else if (excess > 0) steps.push(...scaleIn(input, staying, excess));
  return steps;
}

function scaleOut({ pool, isHeldByOther, underWay, burst, allowance }: PoolPlanInput, missing: number, ours: Set<string>): PoolStep[] {
  const count = Math.min(missing, allowance, burst - underWay.creating.length);
  if (count <= 0) return [];
  const { name } = pool.metadata;
  const numbers = freeNumbers(name, count, (candidate) => ours.has(candidate) || isHeldByOther(candidate));
  const names = namesInWords(numbers.map((number) => vmName(name, number)));
  return [{ kind: 'create', numbers, reason: `create ${names}: ${missing} missing of ${pool.spec.replicas}` }];
}

function scaleIn(input: PoolPlanInput, staying: readonly VmView[], excess: number): PoolStep[] {
  const { pool, underWay } = input;
  const strategy = scaleInRules(pool.spec.scaleInStrategy);
  if (strategy === null) return [];
  const candidates = strategy.haltedOnly ? staying.filter(isHalted) : staying;
  const count = Math.min(excess, roomToDelete(input));
  const chosen = scaleInOrder(candidates, strategy.selectionPolicy)
    .slice(0, count)
    // A VM that is still being made is deleted once it has been.
    .filter((vm) => !underWay.creating.includes(vm.name));
  if (chosen.length === 0) return [];
  const why = `${excess} more than the ${pool.spec.replicas} wanted`;
  return strategy.keepDisks ? keepDisks(chosen, why) : [deletion(chosen, false, why)];
}

/** A running VM is halted first: its disks are let go only once no guest writes to them. */
function keepDisks(chosen: readonly VmView[], why: string): PoolStep[] {
  const halted = chosen.filter(isHalted);
  const running = chosen.filter((vm) => !isHalted(vm));
  return [
    ...(halted.length === 0 ? [] : [deletion(halted, true, why)]),
    ...(running.length === 0
      ? []
      : [{ kind: 'halt' as const, vms: targets(running), reason: `halt ${words(running)}, to keep their disks: ${why}` }]),
  ];
}

/** VMs that were halted on their way out of the pool, and whose guests are gone. */
function finishRemovals({ vms, underWay, allowance }: PoolPlanInput): PoolStep[] {
  const halted = vms.filter((vm) => vm.removing && !vm.deleting && !vm.hasVmi && !underWay.deleting.includes(vm.name));
  const chosen = scaleInOrder(halted).slice(0, allowance);
  return chosen.length === 0 ? [] : [deletion(chosen, true, 'their guests have stopped')];
}

function planDeletion(input: PoolPlanInput): PoolStep[] {
  const { pool, vms, underWay } = input;
  const { finalizers = [] } = pool.metadata;
  if (!finalizers.includes(POOL_FINALIZER)) return [];
  const busy = new Set([...underWay.creating, ...underWay.deleting]);
  if (vms.length === 0) return busy.size === 0 ? [{ kind: 'let-go', reason: 'the pool is deleted and none of its VMs is left' }] : [];
  const { selectionPolicy } = scaleInRules(pool.spec.scaleInStrategy) ?? {};
  const free = scaleInOrder(vms, selectionPolicy).filter((vm) => !busy.has(vm.name));
  if (finalizers.includes(ORPHAN_FINALIZER)) {
    const chosen = free.slice(0, Math.max(Math.min(input.burst - underWay.deleting.length, input.allowance), 0));
    return chosen.length === 0
      ? []
      : [{ kind: 'release', vms: targets(chosen), reason: `release ${words(chosen)}: the pool was deleted without its VMs` }];
  }
  const chosen = free.filter((vm) => !vm.deleting).slice(0, roomToDelete(input));
  return chosen.length === 0 ? [] : [deletion(chosen, false, 'the pool is deleted')];
}

/** Guests that may be asked to stop now, beside those that are stopping. */
function roomToDelete({ vms, underWay, burst, allowance }: PoolPlanInput): number {
  const stopping = new Set([...underWay.deleting, ...vms.filter((vm) => vm.deleting || vm.removing).map((vm) => vm.name)]);
  return Math.max(Math.min(burst - stopping.size, allowance), 0);
}

interface ScaleInRules {
  haltedOnly: boolean;
  keepDisks: boolean;
  selectionPolicy?: SelectionPolicy | undefined;
}

/** Null where the pool leaves scale-in to people. */
function scaleInRules(strategy: ScaleInStrategy = {}): ScaleInRules | null {
  if (strategy.unmanaged !== undefined) return null;
  if (strategy.opportunistic !== undefined) {
    return { haltedOnly: true, keepDisks: strategy.opportunistic.statePreservation === 'Offline' };
  }
  const { statePreservation, selectionPolicy } = strategy.proactive ?? {};
  return { haltedOnly: false, keepDisks: statePreservation === 'Offline', selectionPolicy };
}

const deletion = (vms: readonly VmView[], keepDisks: boolean, why: string): PoolStep => ({
  kind: 'delete',
  vms: targets(vms),
  keepDisks,
  reason: `delete ${words(vms)}${keepDisks ? ' and keep their disks' : ''}: ${why}`,
});

const targets = (vms: readonly VmView[]): Target[] => vms.map(({ name, uid, resourceVersion }) => ({ name, uid, resourceVersion }));
const words = (vms: readonly VmView[]): string => namesInWords(vms.map((vm) => vm.name));

function phaseOf({ pool, vms }: PoolPlanInput): PoolPlan['phase'] {
  if (pool.metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (vms.some((vm) => vm.deleting || vm.removing) || vms.length > pool.spec.replicas) return 'ScalingIn';
  if (vms.length < pool.spec.replicas) return 'ScalingOut';
  return vms.some((vm) => !vm.ready && !isHalted(vm)) ? 'Starting' : 'Steady';
}
