import type { BudgetClaim, BudgetStatus, BudgetWaiter } from '../../api/budgets/budget.ts';
import { Nodes } from '../../api/resources.ts';
import { holdsIn } from '../../decisions/disruption-budget/any-vms/budget-index.ts';
import { budgetStatus } from '../../decisions/disruption-budget/any-vms/budget-status.ts';
import type { Counts } from '../../decisions/disruption-budget/any-vms/counts.ts';
import { grantPlaces, stateOfPlace, type PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { BudgetTally } from '../../decisions/disruption-budget/any-vms/tally.ts';
import { turnOf, withWaiters, type Asking } from '../../decisions/disruption-budget/any-vms/turns.ts';
import { namespacedName } from '../../decisions/disruption-budget/restart-budget.ts';
import { budgetResource, type StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { withTime } from '../../decisions/owners/conditions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { BudgetTallies } from './budget-tallies.ts';
import type { ActiveClaim, BudgetKey, ClaimStore, Granted } from './claim-store.ts';

/** So many claims say where VMs went down by themselves; the domains of more are not known to other workers. */
const MOST_FAILED = 200;

/** Disruption budgets over any VMs, with claims in their own status. */
export class BudgetStore implements ClaimStore<StoredBudget, BudgetClaim> {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;
  readonly #tallies: BudgetTallies;

  constructor(client: KubeClient, cache: ClusterCache, tallies: BudgetTallies) {
    this.#client = client;
    this.#cache = cache;
    this.#tallies = tallies;
  }

  resourceOf({ metadata }: StoredBudget) {
    return budgetResource(metadata);
  }

  cached(key: BudgetKey): StoredBudget | undefined {
    return this.#cache.budgets.get(key);
  }

  async live(key: BudgetKey): Promise<StoredBudget | undefined> {
    const budget = await ignoreNotFound(this.#client.get<StoredBudget>(budgetResource(key), key));
    return budget?.metadata.uid === key.uid ? budget : undefined;
  }

  view(written: object): StoredBudget {
    return written as StoredBudget;
  }

  follow(listener: (before: StoredBudget | undefined, after: StoredBudget | undefined) => void): void {
    this.#cache.subscribe((change) => {
      if (change.kind === 'budget') listener(change.before, change.after);
    });
  }

  waitingOf({ status }: StoredBudget): readonly BudgetWaiter[] {
    return status?.waiting ?? [];
  }

  claimsOf({ status }: StoredBudget): readonly BudgetClaim[] {
    return status?.claims ?? [];
  }

  seenOf({ status }: StoredBudget): ResourceVersions {
    return status?.seen ?? {};
  }

  active(budget: StoredBudget, claims: readonly BudgetClaim[]): ActiveClaim<BudgetClaim>[] {
    const tally = this.#tallies.tally(budget);
    const { vms } = this.#cache;
    const seen = { vmOf: (key: string) => vms.get(key), vmiOf: this.#vmiOf };
    return claims.map((claim) => {
      const counts = tally.of(`${claim.namespace}/${claim.vm}`);
      if (budget.spec.topology !== undefined && isStillDown(claim, counts, tally)) return { claim, state: 'lasting' };
      // One that the budget does not select may come under it at any moment, by what the claim is for.
      return { claim, state: stateOfPlace(claim, seen) ?? 'down' };
    });
  }

  readonly #vmiOf: ClusterCache['vmiOf'] = (vm) => this.#cache.vmiOf(vm);

  async isUsed(_budget: StoredBudget, claim: BudgetClaim): Promise<boolean> {
    const at = { namespace: claim.namespace, name: claim.vm };
    const live = await liveVmWithVmi({ client: this.#client, cache: this.#cache }, at);
    return stateOfPlace(claim, { vmOf: () => live?.vm, vmiOf: () => live?.vmi }) !== 'unused';
  }

  /** Whether the status says something else than it should, with these claims. */
  isOutdated(budget: StoredBudget, claims: readonly BudgetClaim[]): boolean {
    const { status = {} } = budget;
    const wanted = this.grant(budget, claims, [], new Map()).statusOf(undefined);
    const differs = ([field, value]: [string, unknown]): boolean =>
      canonical(value ?? null) !== canonical(status[field as keyof BudgetStatus] ?? null);
    return Object.entries(wanted).some(differs);
  }

  grant(
    budget: StoredBudget,
    active: readonly BudgetClaim[],
    requests: readonly PlaceRequest[],
    asking: ReadonlyMap<string, Asking>,
  ): Granted<BudgetClaim> {
    const tally = this.#tallies.tally(budget);
    const now = Date.now();
    const at = new Date(now).toISOString();
    const asked = requests.map((request) => this.#asSeenNow(request));
    const { claims: granted, answers, counts } = grantPlaces(budget, tally, active, asked, at);
    const claims = [...granted, ...this.#failed(tally, granted, at)];
    const served = new Set(requests.filter((_, index) => answers[index] === null).map(({ by }) => turnOf(by)));
    const statusOf = (seen: ResourceVersions | undefined): object => {
      const { delegated, missing, namespaces } = this.#cache;
      const { conditions, ...status } = budgetStatus(budget, {
        counts,
        matched: tally.matched,
        claims,
        whyDomains: tally.domains(claims).whyFull(),
        down: tally.down.map(([key]) => key),
        delegated: delegated.filter((namespace) => holdsIn(budget, namespace, (name) => namespaces.get(name))),
        neverWith: this.#tallies.neverWith(budget),
        knowsNodes: missing.every(({ resource }) => resource !== Nodes),
        now,
      });
      return {
        claims,
        waiting: withWaiters(this.waitingOf(budget), asking, served, now),
        ...status,
        conditions: conditions.map((condition) => ({
          ...withTime(budget, condition, at),
          observedGeneration: status.observedGeneration,
        })),
        ...(seen && { seen }),
      };
    };
    return { claims, answers, statusOf };
  }

  /** While the request waited for its turn, its VM may have moved to another domain. */
  #asSeenNow({ vm, vmi, ...request }: PlaceRequest): PlaceRequest {
    const known = this.#cache.vms.get(namespacedName(vm));
    if (known?.uid !== vm.uid) return { ...request, vm, vmi };
    return { ...request, vm: newest(vm, known), vmi: newest(vmi, this.#cache.vmiOf(known)) };
  }

  /**
   * VMs that went down by themselves where this worker knows: once their VMIs are gone, nothing else tells their
   * domain.
   */
  #failed(tally: BudgetTally, claims: readonly BudgetClaim[], at: string): BudgetClaim[] {
    const known = new Set(claims.map(({ namespace, vm }) => `${namespace}/${vm}`));
    const failed = tally.down.flatMap(([key, domain]): BudgetClaim[] => {
      const vm = known.has(key) || domain === null ? undefined : this.#cache.vms.get(key);
      if (vm === undefined) return [];
      const { namespace, name } = vm;
      return [{ namespace, vm: name, by: '', reason: 'Failed', at, domain: domain! }];
    });
    return failed.slice(0, Math.max(MOST_FAILED - claims.length, 0));
  }
}

/** Whether a claim must still say in which domain its VM is down: the VM itself, or the lack of it, does not. */
function isStillDown({ migration }: BudgetClaim, counts: Counts | undefined, tally: BudgetTally): boolean {
  if (counts === undefined) return tally.missing > 0;
  return counts.expected > counts.available && migration === undefined;
}

const newest = <T extends { resourceVersion: string } | undefined>(one: T, other: T): T =>
  BigInt(one?.resourceVersion ?? 0) > BigInt(other?.resourceVersion ?? 0) ? one : other;
