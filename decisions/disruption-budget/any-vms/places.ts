import type { BudgetClaim, DisruptionReason } from '../../../api/budgets/budget.ts';
import { CAPS } from '../../../api/lib/caps.ts';
import { isActive, isDown, isMeantToRun, liveVmi, type VmiOf } from '../../health/availability.ts';
import { isStandby, type VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';
import { stateOfMigration } from '../claims.ts';
import type { ClaimRequest } from '../grant-claims.ts';
import { namespacedName } from '../restart-budget.ts';
import type { StoredBudget } from '../stored-budget.ts';
import {
  allowedBy,
  countsMigrations,
  formatBudget,
  hoursAt,
  whyFull,
  whyNoMigration,
  type Refusal,
} from './allowed.ts';
import { add, countsOf, isFree, NOT_COUNTED, type Counts } from './counts.ts';
import type { BudgetTally } from './tally.ts';

/** A VM that is to be disrupted, as the caller has seen it last. */
export interface PlaceRequest extends ClaimRequest {
  reason: DisruptionReason;
}

interface Seen {
  vmOf: (key: string) => VmView | undefined;
  vmiOf: VmiOf;
}

const keyOf = ({ namespace, vm }: BudgetClaim): string => `${namespace}/${vm}`;

/**
 * Returns what has become of a claim: it is not used yet (`unused`), or its VM is being disrupted and the VM does not
 * show it (`used`). Null if the claim is needed no more: the VM counts by itself, as down, missing, stopped or
 * available, in every view that is as new as this one.
 */
export function stateOfPlace(claim: BudgetClaim, { vmOf, vmiOf }: Seen): 'used' | 'unused' | null {
  const vm = vmOf(keyOf(claim));
  if (vm === undefined || !isActive(vm) || isStandby(vm)) return null;
  if (claim.vmUid !== undefined && vm.uid !== claim.vmUid) return null;
  const vmi = vmiOf(vm);
  const live = liveVmi(vmi);
  if (!isMeantToRun(vm, vmi) && live === undefined) return null;
  if (live !== undefined && live.uid === claim.vmi && !vm.changingState) {
    const state = claim.migration === undefined ? 'unused' : stateOfMigration(claim.migration, live);
    return state === 'over' ? null : state;
  }
  if (isDown(vm, vmi)) return null;
  return vm.changingState ? 'used' : null;
}

/** The room in a budget: how its VMs count, claims included. */
class Room {
  readonly #budget: StoredBudget;
  readonly #tally: Pick<BudgetTally, 'of'>;
  readonly total: Counts;
  /** VMs that count in another way than the tally says, by `namespace/name`. */
  readonly #own = new Map<string, Counts>();

  constructor(budget: StoredBudget, tally: Pick<BudgetTally, 'of' | 'total'>) {
    this.#budget = budget;
    this.#tally = tally;
    this.total = { ...tally.total };
  }

  of(key: string): Counts {
    return this.#own.get(key) ?? this.#tally.of(key) ?? NOT_COUNTED;
  }

  set(key: string, counts: Counts): void {
    add(this.total, this.of(key), -1);
    add(this.total, counts, 1);
    this.#own.set(key, counts);
  }

  /** Counts a VM that may go down, or migrate, at any moment. */
  take(key: string, migration: number | undefined): void {
    const now = this.of(key);
    this.set(key, this.#isApart(migration) ? { ...now, migrating: 1 } : { ...now, available: 0 });
  }

  /** Whether migrations have their own limit, and this is one. */
  #isApart(migration: number | undefined): boolean {
    return migration !== undefined && countsMigrations(this.#budget.spec);
  }

  /**
   * Returns why this must not be done to the VM now; null if it may. A VM that counts as down because of its claim
   * alone is no reason to let it go down: others may have failed since. `free`: nothing is lost if it goes down.
   */
  whyNot(key: string, migration: number | undefined, free: boolean): string | null {
    const { available, migrating } = this.of(key);
    const { spec } = this.#budget;
    if (this.#isApart(migration)) {
      const others = this.total.migrating - migrating;
      return others + 1 > spec.maxMigrating! ? whyNoMigration(this.#budget, this.total) : null;
    }
    if (free) return null;
    const allowed = allowedBy(spec, this.total);
    return allowed !== null && allowed < available ? whyFull(this.#budget, this.total) : null;
  }
}

/** What came of requests: the claims to write, and how all counts with them. */
interface Granted {
  claims: BudgetClaim[];
  /** Null if a request is granted. */
  answers: (Refusal | null)[];
  counts: Counts;
}

/**
 * Decides which VMs may be disrupted now, in the order of the requests. `active`: claims that still count. Costs no
 * more than the claims and the requests.
 */
export function grantPlaces(
  budget: StoredBudget,
  tally: Pick<BudgetTally, 'of' | 'total'>,
  active: readonly BudgetClaim[],
  requests: readonly PlaceRequest[],
  at: string,
): Granted {
  const room = new Room(budget, tally);
  const claims = new Map(active.map((claim) => [keyOf(claim), claim]));
  const hours = hoursAt(budget.spec, Date.parse(at));
  for (const { vm, vmi } of requests) room.set(namespacedName(vm), countsOf(vm, vmi, countsMigrations(budget.spec)));
  for (const [key, { migration }] of claims) room.take(key, migration);
  const refused = (message: string, opensAt: number | null = null): Refusal => ({
    budget: budget.metadata.uid,
    message,
    ...(opensAt !== null && { opensAt }),
  });
  const answers = requests.map((request): Refusal | null => {
    const { vm, vmi, by, migration } = request;
    const key = namespacedName(vm);
    const existing = claims.get(key);
    const live = liveVmi(vmi);
    if (existing !== undefined && existing.by !== by && live?.uid === existing.vmi && live?.ready === true)
      return refused(`${existing.by} is about to disrupt it`);
    const free = isFree(vm, vmi);
    if (hours.hold === 'all' && !free) return refused(`${formatBudget(budget)}: ${hours.why}`, hours.opensAt);
    const message = hours.hold === 'limits' ? room.whyNot(key, migration, free) : null;
    if (message !== null) return refused(message);
    if (existing === undefined && claims.size >= CAPS.claims)
      return refused(`${CAPS.claims} VMs of ${formatBudget(budget)} are being disrupted already`);
    room.take(key, migration);
    claims.set(key, placeOf(request, live, at));
    return null;
  });
  return { claims: [...claims.values()], answers, counts: room.total };
}

const placeOf = (
  { vm, vmi, by, reason, migration }: PlaceRequest,
  live: VmiView | undefined,
  at: string,
): BudgetClaim => ({
  vm: vm.name,
  namespace: vm.namespace,
  vmUid: vm.uid,
  ...(live === undefined ? {} : { vmi: live.uid }),
  by,
  reason,
  at,
  ...(migration === undefined ? {} : { migration }),
  minVersions: { vms: vm.resourceVersion, ...(vmi === undefined ? {} : { vmis: vmi.resourceVersion }) },
});
