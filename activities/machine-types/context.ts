import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { otherTransitions, type Fleet } from '../../decisions/machine-types/look.ts';
import { transitionRules, type TransitionRules } from '../../decisions/machine-types/transition-rules.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { Authority } from '../operations/authority.ts';
import { includedIn } from '../operations/scope.ts';
import { snapshotOfVms } from '../power/snapshot-of-vms.ts';
import { OtherTransitions } from './other-transitions.ts';

/** What every activity of a transition receives. */
export interface TransitionRequest {
  /** What it is carried out for: the object says what is to be done. */
  operation: OperationRef;
  /** With this, VMs in progress are followed once the operation is deleted: nothing else is done then. */
  transition: Transition;
  /** What dry runs have shown so far. */
  results: TransitionResult[];
  minVersions: ResourceVersions;
}

/** VMs and pools from this worker's caches, in the light of a transition. */
export interface TransitionContext {
  rules: TransitionRules;
  authority: Authority;
  snapshot: Fleet;
  /** Ids of the other transitions that have left something on its VMs. */
  others: ReadonlySet<string>;
}

/** Looks at VMs and pools in the light of transitions. */
export class TransitionContexts {
  readonly others: OtherTransitions;
  readonly #cache: ClusterCache;
  readonly #fleet: Fleet;

  constructor(cache: ClusterCache) {
    this.#cache = cache;
    this.#fleet = fleetOf(cache);
    this.others = new OtherTransitions(cache);
  }

  async of(request: Omit<TransitionRequest, 'minVersions'>, authority: Authority): Promise<TransitionContext> {
    const { results } = request;
    const { operation } = authority;
    const transition =
      operation === undefined ? request.transition : transitionOf(operation, includedIn(this.#cache, operation));
    const othersRunning = { get: this.others.nameOf };
    const rules = transitionRules({ ref: { id: request.operation.uid }, transition, results, othersRunning });
    const others = otherTransitions(rules, this.#fleet);
    // One that marks a VM only later counts as running until the next look.
    await this.others.refresh(others);
    return { rules, authority, snapshot: this.#fleet, others };
  }
}

const fleetOf = (cache: ClusterCache): Fleet => ({ ...snapshotOfVms(cache), vms: () => cache.vms.values() });
