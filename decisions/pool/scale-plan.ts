import { ORPHAN_FINALIZER, POOL_FINALIZER } from '../../api/names.ts';
import { scaleInRules } from '../../api/pool-defaults.ts';
import { isAtRest } from '../disruption-budget/availability.ts';
import { formatNames } from '../lib/names.ts';
import { isHalted, type VmView } from '../views/vm.ts';
import type { Departure } from './departure.ts';
import type { PoolPlanInput } from './plan-input.ts';
import { refusedLast } from './refused-vms.ts';
import { chooseLeaving } from './scale-choice.ts';
import { scaleInOrder } from './selection-order.ts';
import type { PoolStep, Target } from './steps.ts';
import { freeNumbers, numberOf, vmName } from './vm-names.ts';

/** What scaling looks at beside the pool and its VMs. */
export type ScaleInput = Pick<
  PoolPlanInput,
  'pool' | 'vms' | 'vmiOf' | 'isHeldByOther' | 'underWay' | 'burst' | 'allowance' | 'refused'
> & {
  /** VMs that healing holds, by name: they are neither made nor taken out beside it. */
  held: ReadonlySet<string>;
  /** Names without a VM that an update will make one of: none is made beside it. */
  coming: ReadonlySet<string>;
  /** VMs that are being healed, by name: they leave before others. */
  sick: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  goal: string;
  /** Names that are made before others: they were the pool's. */
  first: readonly string[];
};

/** A step of scaling; of which revision new VMs are is not its business. */
export type ScaleStep =
  | Exclude<PoolStep, { kind: 'create' | 'update' | 'prune' | 'discard' | 'unmark' }>
  | { kind: 'create'; numbers: number[]; reason: string };

/** Steps towards as many VMs as the pool's spec wants. */
export function planScale(input: ScaleInput): ScaleStep[] {
  const { pool, vms, underWay } = input;
  if (!pool.metadata.finalizers?.includes(POOL_FINALIZER))
    return [{ kind: 'hold', reason: 'the pool must not go before its VMs' }];
  const leaving = new Set(underWay.deleting);
  const present = new Set(vms.map((vm) => vm.name));
  const coming = [...new Set([...underWay.creating, ...input.held, ...input.coming])].filter(
    (name) => !present.has(name),
  );
  const staying = vms.filter((vm) => !vm.deleting && !vm.removing && !leaving.has(vm.name));
  const wanted = pool.spec.replicas;
  const steps = finishRemovals(input);

  // A VM that is going still holds its name, its disks and its place: the pool never has more VMs than it wants.
  const missing = Math.max(wanted - present.size - coming.length, comingBack(input, present));
  // What is only to come makes none of those superfluous that are there: who makes it asks again whether it is still
  // wanted.
  const excess = staying.length - wanted;
  if (missing > 0) steps.push(...scaleOut(input, missing, new Set([...present, ...coming])));
  else if (excess > 0) steps.push(...scaleIn(input, staying, excess));
  return steps;
}

/**
 * VMs that were replaced come back though the pool has more than it wants, where scaling in would not have taken them.
 */
function comingBack({ pool, first, underWay, isHeldByOther }: ScaleInput, present: ReadonlySet<string>): number {
  if (scaleInRules(pool.spec.scaleInStrategy).kind === 'proactive') return 0;
  return first.filter((name) => !present.has(name) && !underWay.creating.includes(name) && !isHeldByOther(name)).length;
}

function scaleOut(
  { pool, isHeldByOther, underWay, burst, allowance, refused, first }: ScaleInput,
  missing: number,
  ours: Set<string>,
): ScaleStep[] {
  const count = Math.min(missing, allowance, burst - underWay.creating.length);
  if (count <= 0) return [];
  const { name } = pool.metadata;
  const isTaken = (candidate: string): boolean => ours.has(candidate) || isHeldByOther(candidate);
  // Those that are refused keep their numbers, and nobody waits for them.
  const enough = refused?.isGeneral === true ? missing : Math.min(missing, count + (refused?.names.length ?? 0));
  const given = first.filter((candidate) => !isTaken(candidate)).slice(0, enough);
  const others = freeNumbers(
    name,
    enough - given.length,
    (candidate) => given.includes(candidate) || isTaken(candidate),
  );
  const sorted = [...given.flatMap((candidate) => numberOf(name, candidate) ?? []), ...others].toSorted(
    (one, other) => one - other,
  );
  const numbers = refusedLast(sorted, (number) => vmName(name, number), refused).slice(0, count);
  if (numbers.length === 0) return [];
  const names = formatNames(numbers.map((number) => vmName(name, number)));
  return [{ kind: 'create', numbers, reason: `create ${names}: ${missing} missing of ${pool.spec.replicas}` }];
}

function scaleIn(input: ScaleInput, staying: readonly VmView[], excess: number): ScaleStep[] {
  const { pool, vmiOf, underWay, held, sick, goal } = input;
  const rules = scaleInRules(pool.spec.scaleInStrategy);
  if (rules.kind === 'unmanaged') return [];
  const policy = rules.kind === 'proactive' ? rules.selectionPolicy : {};
  const mayLeave = (vm: VmView): boolean =>
    !held.has(vm.name) && (rules.kind === 'proactive' || isAtRest(vm, vmiOf(vm)));
  const chosen = refusedLast(
    chooseLeaving({ pool, vmiOf, policy, staying, mayLeave, sick, goal, excess }),
    nameOf,
    input.refused,
  )
    .slice(0, roomToDelete(input))
    // A VM that is still being made is deleted once it has been.
    .filter((vm) => !underWay.creating.includes(vm.name));
  if (chosen.length === 0) return [];
  const why = `${excess} more than the ${pool.spec.replicas} wanted`;
  return rules.statePreservation === 'Offline' ? keepDisks(chosen, why) : [deletion(chosen, false, 'surplus', why)];
}

/** A running VM is halted first: its disks are let go only once no guest writes to them. */
function keepDisks(chosen: readonly VmView[], why: string): ScaleStep[] {
  const halted = chosen.filter(isHalted);
  const running = chosen.filter((vm) => !isHalted(vm));
  return [
    ...(halted.length === 0 ? [] : [deletion(halted, true, 'surplus', why)]),
    ...(running.length === 0 ? [] : [halting(running, 'surplus', why)]),
  ];
}

/** VMs that are going, and are held until their disks are let go: whoever has begun with it did not come to its end. */
function finishHeld({ vms, underWay, allowance }: ScaleInput): ScaleStep[] {
  const held = vms.filter((vm) => isHeld(vm) && !underWay.deleting.includes(vm.name)).slice(0, allowance);
  return held.length === 0 ? [] : [deletion(held, true, 'going', 'they are going')];
}

const isHeld = (vm: VmView): boolean => vm.deleting && vm.keepsDisks;

/**
 * VMs on their way out of the pool: those whose guests are gone go, and one that somebody has started is halted again.
 */
function finishRemovals(input: ScaleInput): ScaleStep[] {
  const { vms, underWay, allowance } = input;
  const marked = scaleInOrder(vms.filter((vm) => vm.removing && !vm.deleting && !underWay.deleting.includes(vm.name)));
  const leaving = refusedLast(marked, nameOf, input.refused);
  const stopped = leaving.filter((vm) => vm.runStrategy === 'Halted' && !vm.hasVmi).slice(0, allowance);
  const started = leaving.filter((vm) => vm.runStrategy !== 'Halted').slice(0, allowance);
  return [
    ...finishHeld(input),
    ...(stopped.length === 0 ? [] : [deletion(stopped, true, 'marked', 'their guests have stopped')]),
    ...(started.length === 0 ? [] : [halting(started, 'marked', 'they leave the pool, and were started')]),
  ];
}

/** Steps towards the end of a pool that is deleted: its VMs go first, or are let go. */
export function planDeletion(input: ScaleInput): ScaleStep[] {
  const { pool, vms, underWay } = input;
  const { finalizers = [] } = pool.metadata;
  if (!finalizers.includes(POOL_FINALIZER)) return [];
  const busy = new Set([...underWay.creating, ...underWay.deleting]);
  if (vms.length === 0)
    return busy.size === 0 ? [{ kind: 'let-go', reason: 'the pool is deleted and none of its VMs is left' }] : [];
  const rules = scaleInRules(pool.spec.scaleInStrategy);
  const order = scaleInOrder(vms, { policy: rules.kind === 'proactive' ? rules.selectionPolicy : undefined });
  const free = refusedLast(
    order.filter((vm) => !busy.has(vm.name)),
    nameOf,
    input.refused,
  );
  if (finalizers.includes(ORPHAN_FINALIZER)) {
    const chosen = free
      .filter((vm) => !isHeld(vm))
      .slice(0, Math.max(Math.min(input.burst - underWay.deleting.length, input.allowance), 0));
    if (chosen.length === 0) return finishHeld(input);
    return [
      ...finishHeld(input),
      {
        kind: 'release',
        vms: targets(chosen),
        reason: `release ${words(chosen)}: the pool was deleted without its VMs`,
      },
    ];
  }
  // Those that were leaving with their disks kept go so: what was kept a moment before stays as well.
  const chosen = free.filter((vm) => !vm.deleting && !vm.removing).slice(0, roomToDelete(input));
  return [
    ...finishRemovals(input),
    ...(chosen.length === 0 ? [] : [deletion(chosen, false, 'pool deleted', 'the pool is deleted')]),
  ];
}

const nameOf = (vm: VmView): string => vm.name;

/** Guests that may be asked to stop now, beside those that are stopping. */
function roomToDelete({ vms, underWay, burst, allowance }: ScaleInput): number {
  const stopping = new Set([
    ...underWay.deleting,
    ...vms.filter((vm) => vm.deleting || vm.removing).map((vm) => vm.name),
  ]);
  return Math.max(Math.min(burst - stopping.size, allowance), 0);
}

type Because = Departure['because'];

const deletion = (vms: readonly VmView[], keepDisks: boolean, because: Because, why: string): ScaleStep => ({
  kind: 'delete',
  vms: targets(vms),
  keepDisks,
  because,
  reason: `delete ${words(vms)}${keepDisks ? ' and keep their disks' : ''}: ${why}`,
});

const halting = (vms: readonly VmView[], because: Because, why: string): ScaleStep => ({
  kind: 'halt',
  vms: targets(vms),
  because,
  reason: `halt ${words(vms)}, to keep their disks: ${why}`,
});

const targets = (vms: readonly VmView[]): Target[] =>
  vms.map(({ name, uid, resourceVersion }) => ({ name, uid, resourceVersion }));
const words = (vms: readonly VmView[]): string => formatNames(vms.map((vm) => vm.name));
