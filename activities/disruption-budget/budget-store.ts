import type { BudgetClaim, BudgetStatus } from '../../api/budgets/budget.ts';
import { ClusterVirtualMachineDisruptionBudgets, VirtualMachineDisruptionBudgets } from '../../api/resources.ts';
import { budgetStatus } from '../../decisions/disruption-budget/any-vms/budget-status.ts';
import { grantPlaces, stateOfPlace, type PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { withTime } from '../../decisions/owners/conditions.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { BudgetTallies } from './budget-tallies.ts';
import type { ActiveClaim, BudgetKey, ClaimStore, Granted } from './claim-store.ts';

const resourceOf = ({ namespace }: Pick<BudgetKey, 'namespace'>) =>
  namespace === undefined ? ClusterVirtualMachineDisruptionBudgets : VirtualMachineDisruptionBudgets;

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
    return resourceOf(metadata);
  }

  cached(key: BudgetKey): StoredBudget | undefined {
    return this.#cache.budgets.get(key);
  }

  async live(key: BudgetKey): Promise<StoredBudget | undefined> {
    const budget = await ignoreNotFound(this.#client.get<StoredBudget>(resourceOf(key), key));
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
      const isSelected = tally.of(`${claim.namespace}/${claim.vm}`) !== undefined;
      return { claim, state: (isSelected ? stateOfPlace(claim, seen) : null) ?? 'down' };
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
    const wanted = this.grant(budget, claims, []).statusOf(undefined);
    const differs = ([field, value]: [string, unknown]): boolean =>
      canonical(value ?? null) !== canonical(status[field as keyof BudgetStatus] ?? null);
    return Object.entries(wanted).some(differs);
  }

  grant(budget: StoredBudget, active: readonly BudgetClaim[], requests: readonly PlaceRequest[]): Granted<BudgetClaim> {
    const tally = this.#tallies.tally(budget);
    const now = Date.now();
    const { claims, answers, counts } = grantPlaces(budget, tally, active, requests, new Date(now).toISOString());
    const statusOf = (seen: ResourceVersions | undefined): object => {
      const { delegated, nodes } = this.#cache;
      const findings = { counts, matched: tally.matched, claims, delegated, knowsNodes: nodes.missing === null, now };
      const { conditions, ...status } = budgetStatus(budget, findings);
      const at = new Date(now).toISOString();
      return {
        claims,
        ...status,
        conditions: conditions.map((condition) => withTime(budget, condition, at)),
        ...(seen && { seen }),
      };
    };
    return { claims, answers, statusOf };
  }
}
