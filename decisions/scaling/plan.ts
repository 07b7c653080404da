import { POOL_FINALIZER } from '../../api/names.ts';
import { scaleInRules, type ScaleInRules } from '../../api/pool-defaults.ts';
import { isActive } from '../disruption-budget/availability.ts';
import { formatNames } from '../lib/names.ts';
import type { PoolPlanInput } from '../pool/plan-input.ts';
import type { PoolStep } from '../pool/steps.ts';
import type { StoredPool } from '../views/pool.ts';
import { isHalted, isRegular, type MemberRole, type RegularVm, type VmView } from '../views/vm.ts';
import { chooseLeaving } from './choice.ts';
import { BY_NAME, type Departure } from './departure.ts';
import { namedAmong, type NamedRemovals } from './named-removals.ts';
import { refusedLast } from './refused-vms.ts';
import { deletion, finishRemovals, halting, nameOf, planEnd, roomToDelete, words } from './removal.ts';
import { scaleInOrder } from './selection-order.ts';
import { blockedSurplus, mayLeave, scaleInWindow, takesSurplus, type BlockedSurplus } from './surplus.ts';
import { freeNumbers, numberOf, vmName } from './vm-names.ts';

/** What scaling reads besides the pool and its VMs. */
export type ScaleInput = Pick<
  PoolPlanInput,
  'pool' | 'vms' | 'vmiOf' | 'zoneOf' | 'isHeldByOther' | 'inProgress' | 'burst' | 'allowance' | 'refused' | 'now'
> & {
  /** Names of VMs that healing holds: scaling neither creates nor removes them. */
  held: ReadonlySet<string>;
  /** Names without a VM that an update will create: scaling doesn't create them. */
  coming: ReadonlySet<string>;
  /** Names of VMs that are being healed: they leave before others. */
  sick: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
  /** Names that are created before others: they belonged to the pool. */
  first: readonly string[];
  /** VMs that people want removed. */
  removals: NamedRemovals;
  /** The lowest number that a new VM may have: 0 only if disks of a VM 0 are kept. */
  lowest: number;
};

/** A scaling step; another part decides the revision of new VMs. */
export type ScaleStep =
  | Exclude<PoolStep, { kind: 'create' | 'update' | 'prune' | 'discard' | 'unmark' | 'label' | 'unlabel' }>
  | { kind: 'create'; numbers: number[]; role?: MemberRole; reason: string };

export interface ScalePlan {
  steps: ScaleStep[];
  /** VMs that are more than the pool wants, and stay; null if there are none. */
  blocked: BlockedSurplus | null;
  /** When a window opens for them, in milliseconds since the epoch. */
  wakeAt: number | null;
}

/** Returns steps towards the number of VMs that the pool's spec wants. */
export function planScale(input: ScaleInput): ScalePlan {
  const { pool, vms, inProgress, removals } = input;
  if (!pool.metadata.finalizers?.includes(POOL_FINALIZER))
    return { steps: [{ kind: 'hold', reason: 'the pool must not go before its VMs' }], blocked: null, wakeAt: null };
  const leaving = new Set(inProgress.deleting);
  const taken = new Set(vms.map((vm) => vm.name));
  const coming = [...new Set([...inProgress.creating, ...input.held, ...input.coming])].filter(
    (name) => !taken.has(name),
  );
  const staying = vms.filter((vm) => isActive(vm) && !leaving.has(vm.name));
  const isNamed = namedAmong(removals);
  const active = staying.filter(isRegular).filter((vm) => !isNamed(vm));
  const wanted = pool.spec.replicas;
  const rules = rulesOf(pool);
  const window = scaleInWindow(rules, input.now);
  const room = new Room(roomToDelete(vms, input));
  const steps: ScaleStep[] = [
    ...finishRemovals(input),
    ...removeNamed(input, staying.filter(isNamed), room),
    ...forgetRemoved(input),
  ];

  // A terminating VM still holds its name, disks and place: the pool never has more VMs than it wants.
  const present = vms.filter(isRegular).length;
  const missing = Math.max(wanted - present - coming.length, comingBack(input, taken));
  // VMs still to come don't make existing VMs surplus: whoever creates them checks first whether they are still wanted.
  const excess = active.length - wanted;
  if (missing > 0) steps.push(...scaleOut(input, missing, new Set([...taken, ...coming])));
  else if (excess > 0 && removals.fault === null && window.open) steps.push(...scaleIn(input, active, excess, room));
  const blocked = blockedSurplus({ ...input, rules, active, fault: removals.fault });
  return { steps, blocked, wakeAt: excess > 0 && !window.open ? window.next : null };
}

const rulesOf = ({ spec }: StoredPool): ScaleInRules => scaleInRules(spec.scaleInStrategy);

/**
 * Returns how many replaced VMs must come back even if the pool has a surplus: unless scale-in is proactive, and now,
 * scaling would not have removed them.
 */
function comingBack({ pool, first, inProgress, isHeldByOther, now }: ScaleInput, present: ReadonlySet<string>): number {
  if (takesSurplus(rulesOf(pool), now)) return 0;
  return first.filter((name) => !present.has(name) && !inProgress.creating.includes(name) && !isHeldByOther(name))
    .length;
}

function scaleOut(
  { pool, isHeldByOther, inProgress, burst, allowance, refused, first, lowest }: ScaleInput,
  missing: number,
  ours: Set<string>,
): ScaleStep[] {
  const count = Math.min(missing, allowance, burst - inProgress.creating.length);
  if (count <= 0) return [];
  const { name } = pool.metadata;
  const isTaken = (candidate: string): boolean => ours.has(candidate) || isHeldByOther(candidate);
  // Refused VMs keep their numbers, and no other VM waits for them.
  const enough = refused?.isGeneral === true ? missing : Math.min(missing, count + (refused?.names.length ?? 0));
  const given = first.filter((candidate) => !isTaken(candidate)).slice(0, enough);
  const others = freeNumbers(
    name,
    enough - given.length,
    (candidate) => given.includes(candidate) || isTaken(candidate),
    lowest,
  );
  const sorted = [...given.flatMap((candidate) => numberOf(name, candidate) ?? []), ...others].toSorted(
    (one, other) => one - other,
  );
  const numbers = refusedLast(sorted, (number) => vmName(name, number), refused).slice(0, count);
  if (numbers.length === 0) return [];
  const names = formatNames(numbers.map((number) => vmName(name, number)));
  return [{ kind: 'create', numbers, reason: `create ${names}: ${missing} missing of ${pool.spec.replicas}` }];
}

function scaleIn(input: ScaleInput, active: readonly RegularVm[], excess: number, room: Room): ScaleStep[] {
  const { pool, vmiOf, zoneOf = () => null, held, sick, target } = input;
  const rules = rulesOf(pool);
  if (rules.kind === 'unmanaged') return [];
  const policy = rules.kind === 'proactive' ? rules.selectionPolicy : {};
  const isFree = (vm: VmView): boolean => !held.has(vm.name) && mayLeave({ rules, vmiOf }, vm);
  const leaving = chooseLeaving({ pool, vmiOf, zoneOf, policy, active, mayLeave: isFree, sick, target, excess });
  const why = `${excess} more than the ${pool.spec.replicas} wanted`;
  const because = rules.kind === 'opportunistic' ? 'surplus at rest' : 'surplus';
  return removal(input, room.take(free(input, leaving)), because, why);
}

/**
 * Removes the VMs that people have named, whatever the pool's number, strategy or windows: that was asked for of these
 * VMs. Whoever protects one of them later is refused.
 */
const removeNamed = (input: ScaleInput, named: readonly VmView[], room: Room): ScaleStep[] =>
  removal(input, room.take(free(input, named)), 'named', BY_NAME);

/** Takes VMs off the list of those to remove once the pool has them no more. */
function forgetRemoved({ vms, removals }: ScaleInput): ScaleStep[] {
  const uids = new Set(vms.map(({ uid }) => uid));
  const gone = [...removals.vms].filter(([, uid]) => !uids.has(uid)).map(([name, uid]) => ({ name, uid }));
  const reason = `take ${words(gone)} off the VMs to be removed by name: the pool has them no more`;
  return gone.length === 0 ? [] : [{ kind: 'forget', vms: gone, reason }];
}

/** The VMs in the order to try them. One that is still being created is deleted afterwards. */
const free = ({ inProgress, refused }: ScaleInput, vms: readonly VmView[]): VmView[] =>
  refusedLast(vms, nameOf, refused).filter(({ name }) => !inProgress.creating.includes(name));

/** How many more VMIs may be asked to stop in a plan. */
class Room {
  #left: number;

  constructor(count: number) {
    this.#left = count;
  }

  take<T>(items: readonly T[]): T[] {
    const taken = items.slice(0, this.#left);
    this.#left -= taken.length;
    return taken;
  }
}

function removal(
  { pool }: ScaleInput,
  chosen: readonly VmView[],
  because: Departure['because'],
  why: string,
): ScaleStep[] {
  if (chosen.length === 0) return [];
  const rules = rulesOf(pool);
  return rules.kind !== 'unmanaged' && rules.statePreservation === 'Offline'
    ? keepDisks(chosen, because, why)
    : [deletion(chosen, false, because, why)];
}

/** Halts running VMs first: disks are released only once no VMI writes to them. */
function keepDisks(chosen: readonly VmView[], because: Departure['because'], why: string): ScaleStep[] {
  const halted = chosen.filter(isHalted);
  const running = chosen.filter((vm) => !isHalted(vm));
  return [
    ...(halted.length === 0 ? [] : [deletion(halted, true, because, why)]),
    ...(running.length === 0 ? [] : [halting(running, because, why)]),
  ];
}

/** Returns steps towards the end of a deleted pool: its VMs are deleted first, or released. */
export function planDeletion(input: ScaleInput): ScaleStep[] {
  const rules = rulesOf(input.pool);
  const policy = rules.kind === 'proactive' ? rules.selectionPolicy : undefined;
  return planEnd({
    ...input,
    owner: input.pool,
    finalizer: POOL_FINALIZER,
    what: 'pool',
    order: scaleInOrder(input.vms, { policy }),
  });
}
