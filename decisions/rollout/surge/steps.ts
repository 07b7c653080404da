import { DisruptionBudget } from '../../disruption-budget/budget.ts';
import { heldUntil } from '../../disruption/held.ts';
import { whyNotNow } from '../../disruption/reasons.ts';
import { isActive, isReady, liveVmi } from '../../health/availability.ts';
import { earlier } from '../../lib/earlier-and-later.ts';
import { formatNames } from '../../lib/names.ts';
import { allowanceOf, refusedOf } from '../../owners/failures.ts';
import type { PlanInput } from '../../owners/plan-input.ts';
import { refusedLast } from '../../owners/refused-vms.ts';
import type { PoolStep } from '../../owners/steps.ts';
import { NOT_NEEDED } from '../../scaling/removal-check.ts';
import { deletion } from '../../scaling/removal.ts';
import { freeNumbers, numberOf, vmName } from '../../template/vm-names.ts';
import { isRegular, isSurge, type SurgeVm, type VmView } from '../../views/vm.ts';
import type { SurgeNeed } from './need.ts';

type SurgeInput = Pick<
  PlanInput,
  'pool' | 'vms' | 'vmiOf' | 'whyHeld' | 'isVmNameTaken' | 'inProgress' | 'batches' | 'burst' | 'backoffs' | 'now'
> & {
  need: SurgeNeed;
  /** Steps of scaling: replicas that are missing are made first. */
  scaleSteps: readonly { kind: PoolStep['kind'] }[];
  /** Names of VMs that leave otherwise. */
  leaving: readonly string[];
  /** Names that stand for replicas, even without a VM. */
  reserved: Iterable<string>;
  /** Whether disks wait for the VM of this number. */
  hasKeptDisks: (number: number) => boolean;
};

export interface SurgeSteps {
  steps: PoolStep[];
  /** When to look again; milliseconds since the epoch. */
  requeueAt: number | null;
}

/**
 * Returns the steps towards as many extra VMs as the rollout has a use for. An available one leaves only if the
 * disruption budget allows it; one that failed to come up with an older revision is replaced.
 */
export function surgeSteps(input: SurgeInput): SurgeSteps {
  const { pool, vms, vmiOf, inProgress, need } = input;
  if (pool.metadata.deletionTimestamp !== undefined) return { steps: [], requeueAt: null };
  const going = new Set([...inProgress.deleting, ...input.leaving]);
  const staying = inOrder(
    input,
    vms.filter(isSurge).filter((vm) => isActive(vm) && !going.has(vm.name)),
  );
  const isOfNoUse = (vm: SurgeVm): boolean => need.grows && !isReady(vm, vmiOf(vm)) && vm.revision !== need.revision;
  const others = staying.filter((vm) => !isOfNoUse(vm));
  const leaving = [...staying.filter(isOfNoUse), ...others.slice(0, Math.max(others.length - need.wanted, 0))];
  const { may, requeueAt } = thatMayLeave(input, leaving);
  return { steps: [...departures(input, may), ...creations(input, missingOf(need, vms))], requeueAt };
}

/** A terminating VM still holds its place: there are never more than `maxSurge`. */
const missingOf = ({ grows, wanted }: SurgeNeed, vms: readonly VmView[]): number =>
  grows ? wanted - vms.filter(isSurge).length : 0;

/** The order in which extra VMs leave: first VMs without service, then VMs of another revision. */
function inOrder({ vmiOf, need, pool }: SurgeInput, vms: readonly SurgeVm[]): SurgeVm[] {
  const rankOf = (vm: SurgeVm): number => (isReady(vm, vmiOf(vm)) ? 2 : 0) + (vm.revision === need.revision ? 1 : 0);
  const numberIn = ({ name }: SurgeVm): number => numberOf(pool.metadata.name, name) ?? 0;
  return vms.toSorted((a, b) => rankOf(a) - rankOf(b) || numberIn(b) - numberIn(a));
}

/** Returns the extra VMs that the disruption budget lets go, and users don't keep. */
function thatMayLeave(input: SurgeInput, leaving: readonly SurgeVm[]): { may: SurgeVm[]; requeueAt: number | null } {
  if (leaving.length === 0) return { may: [], requeueAt: null };
  const { pool, vms, vmiOf, now, need, inProgress, whyHeld } = input;
  const acting = [...need.unsettled, ...inProgress.deleting];
  const budget = new DisruptionBudget({ pool, vms, vmiOf, acting, now });
  const free = leaving.filter(
    (vm) => !vm.protected && whyNotNow(vm, liveVmi(vmiOf(vm))) === null && !inProgress.creating.includes(vm.name),
  );
  const may: SurgeVm[] = [];
  let heldAt: number | null = null;
  for (const vm of free) {
    if (!budget.admits(vm)) continue;
    const held = whyHeld?.(vm, 'restart', 'Removal') ?? null;
    if (held !== null) {
      heldAt = earlier(heldAt, heldUntil(held, now));
      continue;
    }
    budget.charge(vm);
    may.push(vm);
  }
  return { may, requeueAt: may.length < free.length ? earlier(budget.againAt, heldAt) : null };
}

function departures(input: SurgeInput, leaving: readonly SurgeVm[]): PoolStep[] {
  const free = refusedLast(leaving, ({ name }) => name, refusedOf(input, 'FailedDelete'));
  const vms = free.slice(0, allowanceOf(input, 'FailedDelete'));
  return deletion(vms, false, 'Surge', NOT_NEEDED);
}

function creations(input: SurgeInput, missing: number): PoolStep[] {
  const { pool, vms, inProgress, need } = input;
  const isThere = new Set([...vms.map(({ name }) => name), ...(inProgress.standby ?? [])]);
  // Whether a VM that is being created is extra or not is known once it is there.
  const scales = input.scaleSteps.some(({ kind }) => kind === 'create' || kind === 'addFinalizer');
  if (scales || inProgress.creating.some((creating) => !isThere.has(creating))) return [];
  const count = Math.min(missing, allowanceOf(input, 'FailedSurge'));
  if (count <= 0) return [];
  const { name } = pool.metadata;
  const free = freeNumbers(name, missing, (candidate) => isTaken(input, candidate, isThere), firstNumber(input));
  const numbers = refusedLast(free, (number) => vmName(name, number), refusedOf(input, 'FailedSurge')).slice(0, count);
  if (numbers.length === 0) return [];
  const names = formatNames(numbers.map((number) => vmName(name, number)));
  const reason = `create ${names}: extra, so that others can be brought to revision ${need.revision}`;
  return [{ kind: 'create', numbers, revision: need.revision, role: 'Surge', reason }];
}

/** Disks that are kept under a number are for a replica: they would go with an extra VM. */
function isTaken(
  { pool, isVmNameTaken, hasKeptDisks }: SurgeInput,
  name: string,
  isThere: ReadonlySet<string>,
): boolean {
  return isThere.has(name) || isVmNameTaken(name) || hasKeptDisks(numberOf(pool.metadata.name, name) ?? 0);
}

/** Extra VMs have numbers beyond those of replicas, which therefore keep their own. */
function firstNumber({ pool, vms, batches, reserved }: SurgeInput): number {
  const names = [
    ...vms.filter(isRegular).map(({ name }) => name),
    ...batches.flatMap((batch) => batch.vms.map(({ name }) => name)),
    ...reserved,
  ];
  const numbers = names.map((name) => numberOf(pool.metadata.name, name) ?? 0);
  return Math.max(pool.spec.replicas, ...numbers) + 1;
}
