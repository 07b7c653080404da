import type { BudgetClaim, BudgetWaiter } from '../../api/budgets/budget.ts';
import type { KubeObject, ObjectMeta } from '../../api/objects.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import type { Resource } from '../../api/resources.ts';
import type { PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import type { Asking } from '../../decisions/disruption-budget/any-vms/turns.ts';
import type { Refusal } from '../../decisions/disruption/held.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';

/** An object whose status has claims. */
export type Claimable = KubeObject & { metadata: ObjectMeta & { uid: string } };

/** Which object it is. */
export interface BudgetKey {
  /** Undefined if it is cluster-wide. */
  namespace?: string | undefined;
  name: string;
  uid: string;
}

/** What came of requests. */
export interface Granted<Claim> {
  claims: Claim[];
  /** Null if a request is granted. */
  answers: (Refusal | null)[];
  /** What to write to the status. `seen`: as `seenOf` is to return it from then on, if that changes. */
  statusOf: (seen: ResourceVersions | undefined) => object;
}

/**
 * What becomes of a claim that still counts. `down`: its VM counts by itself from now on; `lasting`: until it is back.
 */
export interface ActiveClaim<Claim> {
  claim: Claim;
  state: 'down' | 'used' | 'unused' | 'lasting';
}

/** Where claims of a kind are kept, and how VMs count there. */
export interface ClaimStore<Budget extends Claimable, Claim extends DisruptedVm | BudgetClaim> {
  resourceOf: (budget: Budget) => Resource;
  /** As this worker's cache has it. */
  cached: (key: BudgetKey) => Budget | undefined;
  /** As the API server has it; undefined if it is gone, or another has its name. */
  live: (key: BudgetKey) => Promise<Budget | undefined>;
  view: (written: KubeObject) => Budget;
  /** Calls `listener` with each change in the cache. */
  follow: (listener: (before: Budget | undefined, after: Budget | undefined) => void) => void;
  /** The workflows that wait for room, as the status lists them. */
  waitingOf: (budget: Budget) => readonly BudgetWaiter[];
  claimsOf: (budget: Budget) => readonly Claim[];
  /** What caches must have reached: from then on, only the VMs show what earlier claims were for. */
  seenOf: (budget: Budget) => ResourceVersions;
  /** Those of the claims that still count, by this worker's caches. */
  active: (budget: Budget, claims: readonly Claim[]) => ActiveClaim<Claim>[];
  /** Whether the API server shows the claim used that this worker's caches show unused. */
  isUsed: (budget: Budget, claim: Claim) => Promise<boolean>;
  grant: (
    budget: Budget,
    active: readonly Claim[],
    requests: readonly PlaceRequest[],
    asking: ReadonlyMap<string, Asking>,
  ) => Granted<Claim> | Promise<Granted<Claim>>;
}
