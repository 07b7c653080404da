import type { BudgetClaim, DisruptionReason } from '../../../api/budgets/budget.ts';
import { CAPS } from '../../../api/lib/caps.ts';
import type { Refusal } from '../../disruption/held.ts';
import { isActive, isDown, liveVmi, type VmiOf } from '../../health/availability.ts';
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
  isApart,
  whyFull,
  whyNoMigration,
  whyOwed,
  type Hours,
} from './allowed.ts';
import type { Labels } from './budget-index.ts';
import { add, countsOf, isFree, NOT_COUNTED, type Counts } from './counts.ts';
import type { DownDomains } from './domains.ts';
import type { BudgetTally } from './tally.ts';
import { aheadOf } from './turns.ts';

/** What a VM is disrupted for. */
export interface Purpose {
  reason: DisruptionReason;
  /** What it may be for instead, as far as the worker knows: budgets that hold for either are asked. */
  maybeFor?: DisruptionReason;
  /** Whether it waits for no room: a user who may override the budgets has asked for that. */
  pastBudgets?: true;
}

/** A VM that is to be disrupted, as the caller has seen it last. */
export interface PlaceRequest extends ClaimRequest, Purpose {
  /** Which migration of the VMI by drover it is; `BY_KUBEVIRT` if KubeVirt is to change the VMI while it runs. */
  migration?: number | undefined;
  /** The labels that the VM gets with the act: budgets that select it by these are asked as well. */
  becomes?: Labels | undefined;
}

/** Instead of the number of a migration by drover: KubeVirt migrates the VMI by itself, to apply what was changed. */
export const BY_KUBEVIRT = 0;

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
  const vmi = vmiOf(vm);
  const live = liveVmi(vmi);
  if (live !== undefined && live.uid === claim.vmi && !vm.changingState) {
    const { migration, at } = claim;
    if (migration === BY_KUBEVIRT) return hasMigratedSince(live, Date.parse(at)) ? null : 'unused';
    const state = migration === undefined ? 'unused' : stateOfMigration(migration, live);
    return state === 'over' ? null : state;
  }
  if (isDown(vm, vmi)) return null;
  return vm.changingState ? 'used' : null;
}

/** Whether it counts as migrating from now on, or has come through. KubeVirt's times are in whole seconds. */
const hasMigratedSince = ({ migration, migratedAt }: VmiView, since: number): boolean =>
  migration !== null || (migratedAt !== null && migratedAt + 1_000 > since);

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
    this.set(key, isApart(this.#budget.spec, migration) ? { ...now, migrating: 1 } : { ...now, available: 0 });
  }

  /**
   * Returns why this must not be done to the VM now; null if it may. A VM that counts as down because of its claim
   * alone is no reason to let it go down: others may have failed since. `free`: nothing is lost if it goes down.
   * `owed`: to how many others room is owed before it.
   */
  whyNot(key: string, migration: number | undefined, free: boolean, owed: number): string | null {
    const { available, migrating } = this.of(key);
    const { spec } = this.#budget;
    if (isApart(spec, migration)) {
      const others = this.total.migrating - migrating;
      if (others + 1 > spec.maxMigrating!) return whyNoMigration(this.#budget, this.total);
      return others + 1 + owed > spec.maxMigrating! ? whyOwed(this.#budget, owed) : null;
    }
    if (free) return null;
    const allowed = allowedBy(spec, this.total);
    if (allowed !== null && allowed < available) return whyFull(this.#budget, this.total);
    const isOwed = allowed === null ? spec.topology !== undefined && owed > 0 : allowed - available < owed;
    return available > 0 && isOwed ? whyOwed(this.#budget, owed) : null;
  }
}

export type TallyOfPlaces = Pick<BudgetTally, 'of' | 'total' | 'domains' | 'domainOf' | 'knows'>;

/** A VM that the budget does not select yet, or no longer, counts as one that is selected and down. */
const JOINING: Counts = { expected: 1, available: 0, migrating: 0 };

/** What a budget answers to requests at one time, by how its VMs count and the claims on it. */
export class Places {
  readonly #budget: StoredBudget;
  readonly #hours: Hours;
  readonly #now: number;
  readonly #room: Room;
  readonly #tally: TallyOfPlaces;
  readonly #domains: DownDomains;
  /** By `namespace/name` of their VMs. */
  readonly claims: Map<string, BudgetClaim>;

  /** `active`: claims that still count. `now`: milliseconds since the epoch. */
  constructor(budget: StoredBudget, tally: TallyOfPlaces, active: readonly BudgetClaim[], now: number) {
    this.#budget = budget;
    this.#tally = tally;
    this.#domains = tally.domains(active);
    this.#hours = hoursAt(budget.spec, now);
    this.#now = now;
    this.#room = new Room(budget, tally);
    this.claims = new Map(active.map((claim) => [keyOf(claim), claim]));
    for (const [key, { migration }] of this.claims) {
      if (this.#isJoining(key)) this.#room.set(key, JOINING);
      this.#room.take(key, migration);
    }
  }

  #isJoining(key: string): boolean {
    return this.#tally.of(key) === undefined && this.#tally.knows(key);
  }

  /** How all VMs count, claimed ones included. */
  get counts(): Counts {
    return this.#room.total;
  }

  /** Counts the VM as the caller has seen it. */
  see({ vm, vmi }: PlaceRequest): void {
    const key = namespacedName(vm);
    const isJoining = this.#isJoining(key);
    this.#room.set(key, isJoining ? JOINING : countsOf(vm, vmi, countsMigrations(this.#budget.spec)));
    const claim = this.claims.get(key);
    if (claim !== undefined) this.#room.take(key, claim.migration);
  }

  /** Why the request, of a VM that was seen, has to wait; null if it need not. */
  whyNot(request: PlaceRequest): Refusal | null {
    const { vm, vmi, by } = request;
    const key = namespacedName(vm);
    const existing = this.claims.get(key);
    const live = liveVmi(vmi);
    if (existing !== undefined && existing.by !== by && live?.uid === existing.vmi && live?.ready === true)
      return { budget: key, message: `${existing.by} is about to disrupt it` };
    return (request.pastBudgets === true ? null : this.#whyHeld(key, request)) ?? this.#whyListIsFull(existing);
  }

  #whyHeld(key: string, request: PlaceRequest): Refusal | null {
    const free = isFree(request.vm, request.vmi);
    const hours = this.#hours;
    if (hours.hold === 'all' && !free)
      return this.#refused(`${formatBudget(this.#budget)}: ${hours.why}`, hours.opensAt);
    const message = hours.hold === 'limits' ? this.#whyNoRoom(key, request, free) : null;
    return message === null ? null : this.#refused(message);
  }

  #whyListIsFull(existing: BudgetClaim | undefined): Refusal | null {
    return existing === undefined && this.claims.size >= CAPS.claims
      ? this.#refused(`${CAPS.claims} VMs of ${formatBudget(this.#budget)} are being disrupted already`)
      : null;
  }

  #whyNoRoom(key: string, { vm, vmi, migration, by, reason }: PlaceRequest, free: boolean): string | null {
    const owed = aheadOf(this.#budget.status?.waiting ?? [], { by, reason }, this.#now);
    const full = this.#room.whyNot(key, migration, free, owed);
    if (full !== null || free || isApart(this.#budget.spec, migration)) return full;
    const domains = this.#domains.whyNot(key, this.#tally.domainOf(vm, vmi));
    return domains === null ? null : `${formatBudget(this.#budget)} has no room: ${domains}`;
  }

  take(request: PlaceRequest, at: string): void {
    const { vm, vmi, migration } = request;
    const key = namespacedName(vm);
    const [claimed, now] = [this.claims.get(key)?.domain ?? null, this.#tally.domainOf(vm, vmi)];
    // A VM that serves may have moved since it was claimed before.
    const domain = vmi?.ready === true ? (now ?? claimed) : (claimed ?? now);
    this.#room.take(key, migration);
    if (!isApart(this.#budget.spec, migration)) this.#domains.add(key, domain);
    const claim = placeOf(request, at);
    this.claims.set(key, domain === null ? claim : { ...claim, domain });
  }

  #refused(message: string, opensAt: number | null = null): Refusal {
    return { budget: this.#budget.metadata.uid, message, ...(opensAt !== null && { opensAt }) };
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
  tally: TallyOfPlaces,
  active: readonly BudgetClaim[],
  requests: readonly PlaceRequest[],
  at: string,
): Granted {
  const places = new Places(budget, tally, active, Date.parse(at));
  for (const request of requests) places.see(request);
  const answers = requests.map((request): Refusal | null => {
    const refusal = places.whyNot(request);
    if (refusal === null) places.take(request, at);
    return refusal;
  });
  return { claims: [...places.claims.values()], answers, counts: places.counts };
}

const placeOf = ({ vm, vmi, by, reason, migration, pastBudgets }: PlaceRequest, at: string): BudgetClaim => ({
  vm: vm.name,
  namespace: vm.namespace,
  ...(vmi === undefined ? {} : { vmi: vmi.uid }),
  by,
  reason,
  at,
  ...(migration === undefined ? {} : { migration }),
  ...(pastBudgets && { pastBudgets }),
  minVersions: { vms: vm.resourceVersion, ...(vmi === undefined ? {} : { vmis: vmi.resourceVersion }) },
});
