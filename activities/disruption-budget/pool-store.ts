import { POOL_LABEL, ROLE_LABEL } from '../../api/labels-and-annotations.ts';
import type { DisruptedVm } from '../../api/pool/pool.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import type { PlaceRequest } from '../../decisions/disruption-budget/any-vms/places.ts';
import { activeClaims, type ClaimContext } from '../../decisions/disruption-budget/claims.ts';
import { grantClaims } from '../../decisions/disruption-budget/grant-claims.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, isSurge, type MemberRole, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { remembered } from '../cache/remembered.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { BudgetKey, ClaimStore, Granted } from './claim-store.ts';

/** The budgets of pools: `maxUnavailable`, with claims in the pool's own status. */
export class PoolStore implements ClaimStore<StoredPool, DisruptedVm> {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;

  constructor(client: KubeClient, cache: ClusterCache) {
    this.#client = client;
    this.#cache = cache;
  }

  readonly resourceOf = () => VirtualMachinePools;
  readonly view = poolView;

  cached({ namespace, name, uid }: BudgetKey): StoredPool | undefined {
    const cached = this.#cache.pools.get(`${namespace}/${name}`);
    return cached?.metadata.uid === uid ? cached : undefined;
  }

  live({ namespace = '', name, uid }: BudgetKey): Promise<StoredPool | undefined> {
    return livePool(this.#client, { namespace, name, uid });
  }

  follow(listener: (before: StoredPool | undefined, after: StoredPool | undefined) => void): void {
    this.#cache.subscribe((change) => {
      if (change.kind === 'pool') listener(change.before, change.after);
    });
  }

  /** Within a pool, its plan gives the turns. */
  readonly waitingOf = () => [];

  claimsOf({ status }: StoredPool): readonly DisruptedVm[] {
    return status?.disruptedVMs ?? [];
  }

  seenOf({ status }: StoredPool): ResourceVersions {
    return status?.disruptionsSeen ?? {};
  }

  active(pool: StoredPool, claims: readonly DisruptedVm[]): ReturnType<typeof activeClaims> {
    return activeClaims(this.#context(pool, claims), () => false);
  }

  async isUsed(pool: StoredPool, claim: DisruptedVm): Promise<boolean> {
    const at = { namespace: pool.metadata.namespace, name: claim.vm };
    const { vm, vmi } = (await liveVmWithVmi({ client: this.#client, cache: this.#cache }, at)) ?? {};
    const context = this.#context(pool, [claim]);
    const others = context.vms.filter(({ name }) => name !== claim.vm);
    const vms = vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', pool.metadata) ? [...others, vm] : others;
    const vmiOf = (one: VmView): VmiView | undefined => (one === vm ? vmi : this.#cache.vmiOf(one));
    return activeClaims({ ...context, vms, vmiOf }, () => false).some(({ state }) => state !== 'unused');
  }

  async grant(
    pool: StoredPool,
    active: readonly DisruptedVm[],
    requests: readonly PlaceRequest[],
  ): Promise<Granted<DisruptedVm>> {
    const isGone = await this.#goneSurge(pool);
    const context = this.#context(pool, active);
    const vms = context.vms.filter((vm) => !isGone(vm));
    const { claims, answers } = grantClaims({ ...context, vms }, active, requests, new Date().toISOString());
    const budget = pool.metadata.uid;
    return {
      claims,
      answers: answers.map((message) => (message === null ? null : { budget, message })),
      statusOf: (seen) => ({
        ...(pool.status === undefined ? { replicas: 0 } : {}),
        disruptedVMs: claims,
        ...(seen && { disruptionsSeen: seen }),
      }),
    };
  }

  /**
   * Finds extra VMs that are gone, although this worker's cache may still show them: no claim shows these, because
   * their claims have ended. The pool must have been read before: a later deletion has a later claim.
   */
  async #goneSurge({ metadata: pool }: StoredPool): Promise<(vm: VmView) => boolean> {
    if (!this.#cache.vms.ownedBy('VirtualMachinePool', pool).some(isSurge)) return () => false;
    const role: MemberRole = 'Surge';
    const labelSelector = `${POOL_LABEL}=${pool.name},${ROLE_LABEL}=${role}`;
    const { items } = await this.#client.list(VirtualMachines, {
      namespace: pool.namespace,
      labelSelector,
      metadataOnly: true,
    });
    const there = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const uids = new Set(there.map(({ metadata }) => metadata.uid));
    return (vm) => isSurge(vm) && !uids.has(vm.uid);
  }

  #context(pool: StoredPool, claims: readonly DisruptedVm[]): ClaimContext {
    return {
      pool: { ...pool, status: { replicas: 0, ...pool.status, disruptedVMs: [...claims] } },
      vms: this.#cache.vms.ownedBy('VirtualMachinePool', pool.metadata),
      vmiOf: remembered((vm: VmView) => this.#cache.vmiOf(vm)),
    };
  }
}
