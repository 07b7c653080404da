import type { Stored } from '../../api/objects.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import { durationOf, isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import { timestamp } from '../objects/conditions.ts';
import type { Claim } from '../objects/kubevirt.ts';
import { quantityToNumber } from '../objects/quantity.ts';
import { isDeleting, isFinal } from '../objects/vmi.ts';
import { claimsOf } from '../objects/volumes.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { hasFinalizer, removeFinalizer } from '../store/finalizers.ts';
import { StageClock } from '../vmi/stage-clock.ts';
import { isStateOf, keepsState } from '../vmi/state-claim.ts';

const PROTECTION = 'kubernetes.io/pvc-protection';

const GROW_MS = 100;

/**
 * Simulates Kubernetes' PVC protection: the API server's admission puts a finalizer on every claim, which is removed
 * here once the claim is terminating and no VMI uses it. Also simulates the storage: a claim that requests more than
 * its capacity grows. Whether it may request more is decided by the API server, according to the storage class.
 */
export class ClaimController extends Controller {
  readonly #clock = new StageClock();

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'PersistentVolumeClaim', concurrency);
    cluster.claims.subscribe((key, before, after) => {
      if (before !== undefined && after === undefined) this.#clock.forget(before.metadata.uid);
      this.queue.add(key);
    });
    cluster.vmis.subscribe((_key, before, after) => {
      if (before === undefined || (after !== undefined && !isFinal(after))) return;
      for (const claim of claimsOf(before.spec)) this.queue.add(`${before.metadata.namespace}/${claim}`);
      if (!keepsState(before.spec)) return;
      for (const claim of cluster.claims.values()) if (isStateOf(claim, before)) this.queue.add(namespacedName(claim));
    });
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const { claims, vmis } = this.cluster;
    const claim = claims.get(key);
    if (claim === undefined) return undefined;
    if (!isDeleting(claim)) return this.#grow(claim);
    if (!hasFinalizer(claim, PROTECTION)) return undefined;
    const { namespace, name } = claim.metadata;
    for (const vmi of vmis.values()) {
      const uses = vmi.metadata.namespace === namespace && claimsOf(vmi.spec).includes(name);
      if (!isFinal(vmi) && (uses || isStateOf(claim, vmi))) return undefined;
    }
    await removeFinalizer(this.cluster, claims, claim, PROTECTION);
    return undefined;
  }

  async #grow(claim: Stored<Claim>): Promise<number | undefined> {
    const { claims, client } = this.cluster;
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    const { next, wait } = growth(claim, Date.now(), (size) =>
      this.#clock.since(uid, `growing to ${size}`, Date.now(), Date.now()),
    );
    if (next === undefined) return wait;
    const patch = { metadata: { resourceVersion }, status: next };
    claims.remember(
      await client.patch<Claim>(claims.resource, { namespace, name }, 'merge', patch, { subresource: 'status' }),
    );
    return undefined;
  }
}

/**
 * Returns the next status of a bound claim, or the milliseconds until there is one. `since` returns when the claim
 * began to request a size.
 */
function growth(claim: Claim, now: number, since: (size: string) => number): { next?: object; wait?: number } {
  const { capacity, phase, conditions } = claim.status ?? {};
  const requested = claim.spec.resources?.requests?.['storage'];
  if (phase !== 'Bound' || requested === undefined || capacity?.['storage'] === undefined) return {};
  if (quantityToNumber(requested) <= quantityToNumber(capacity['storage'])) return {};
  const due = since(String(requested)) + (durationOf(claim.metadata, SimulatorAnnotation.growTime) ?? GROW_MS);
  if (now < due) return { wait: due - now };
  if (!isOn(claim.metadata, SimulatorAnnotation.growFails))
    return { next: { capacity: { storage: requested }, conditions: null, allocatedResourceStatuses: null } };
  if (conditions !== undefined && conditions.length > 0) return {};
  const time = timestamp(now);
  const message = `the storage has no room for ${requested}`;
  const error = {
    type: 'ControllerResizeError',
    status: 'True',
    message,
    lastProbeTime: time,
    lastTransitionTime: time,
  };
  return { next: { conditions: [error], allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } } };
}
