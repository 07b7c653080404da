import {
  REQUESTED_BY_ANNOTATION,
  CHANGE_CAUSE_ANNOTATION,
  POOL_LABEL,
  REVISION_LABEL,
} from '../../api/labels-and-annotations.ts';
import { controllerOf, type ObjectMeta, type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { requesterOf } from '../../api/requested-by.ts';
import { ControllerRevisions, VirtualMachinePools } from '../../api/resources.ts';
import { revisionView, type ControllerRevision } from '../../decisions/from-object/revision.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { revisionsToPrune } from '../../decisions/template/kept-revisions.ts';
import { revisionName, revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import { ownerReference } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale, isAlreadyExists, isConflict, isNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/owner-key.ts';

const isRace = (error: unknown): boolean => isConflict(error) || isAlreadyExists(error) || isNotFound(error);

/** The current and former templates of pools, each kept in the cluster as a ControllerRevision that the pool owns. */
export class Revisions {
  readonly #client: KubeClient;
  readonly #cache: ClusterCache;

  constructor({ client, cache }: { client: KubeClient; cache: ClusterCache }) {
    this.#client = client;
    this.#cache = cache;
  }

  /**
   * Makes sure that the pool's template is kept, as the newest of its revisions. Does nothing and resolves to false if
   * the pool has another template meanwhile, or no longer exists. Makes no call if the cache shows that the template is
   * kept. Throws if a ControllerRevision of its name belongs to something else.
   */
  async keep(pool: StoredPool): Promise<boolean> {
    const revision = revisionOf(poolTemplate(pool.spec));
    const known = this.#cache.revisions.of(pool.metadata);
    const own = known.find((one) => one.revision === revision);
    if (own !== undefined && known.every((other) => other === own || other.number < own.number)) return true;
    const write = async (tries: number): Promise<boolean> => {
      const [live, list] = await Promise.all([livePool(this.#client, pool.metadata), this.#listOf(pool)]);
      // Otherwise an older template, which a suspended worker still sees, would become the newest again.
      if (live === undefined || revisionOf(poolTemplate(live.spec)) !== revision) return false;
      await this.#makeNewest(pool, revision, { live, list, tries });
      return true;
    };
    return retryOnConflict(write, { isRace });
  }

  /**
   * Returns the pool's template of this revision, from wherever it is known; undefined if it is lost, or was never this
   * pool's.
   */
  async find(key: PoolKey, revision: string): Promise<PoolTemplate | undefined> {
    const cached = this.#cache.revisions.of(key).find((one) => one.revision === revision);
    if (cached !== undefined) return cached.template;
    const pool = this.#cache.pools.get(`${key.namespace}/${key.name}`);
    if (pool?.metadata.uid === key.uid && revisionOf(poolTemplate(pool.spec)) === revision)
      return poolTemplate(pool.spec);
    const live = await this.#get(key.namespace, revisionName(key.name, revision));
    return live !== undefined && isControlledBy(live, VirtualMachinePools, key)
      ? revisionView(live)?.template
      : undefined;
  }

  /**
   * Returns the pool's template of this revision with what its instance type and preference stand for; undefined if it
   * has none, the template is lost, or KubeVirt doesn't tell.
   */
  async expanded(key: PoolKey, revision: string): Promise<PoolTemplate | undefined> {
    const template = await this.find(key, revision);
    return template && this.#cache.expansions.of(key.namespace, revision, template);
  }

  /** Asks KubeVirt what the templates of a pool stand for that VMs have or get, so that a plan can tell. */
  async expandAll({ metadata, spec }: StoredPool): Promise<void> {
    const template = poolTemplate(spec);
    const { namespace } = metadata;
    const { expansions, revisions } = this.#cache;
    const kept = revisions.of(metadata).map((one) => [one.revision, one.template] as const);
    const all = new Map([...kept, [revisionOf(template), template] as const]);
    await Promise.all([...all].map(([revision, one]) => expansions.of(namespace, revision, one)));
  }

  /**
   * Makes the pool the owner of a revision that a backup has restored without one, as it restores VMs. Otherwise an
   * update of such a VM would take what later templates no longer have for what users have added, and leave it there.
   */
  async adopt(pool: StoredPool, revision: string): Promise<void> {
    const { namespace, name: poolName } = pool.metadata;
    const at = { namespace, name: revisionName(poolName, revision) };
    await retryOnConflict(async () => {
      const found = await this.#get(at.namespace, at.name);
      if (found?.metadata.labels?.[POOL_LABEL] !== poolName || controllerOf(found) !== undefined) return;
      const { ownerReferences: others = [], resourceVersion } = found.metadata;
      const ownerReferences = [...others, ownerReference('VirtualMachinePool', pool.metadata)];
      if (!isRevisionOf(pool, { ...found, metadata: { ...found.metadata, ownerReferences } })) return;
      const metadata = { resourceVersion, ownerReferences };
      await ignoreNotFound(this.#client.patch(ControllerRevisions, at, 'merge', { metadata }));
    });
  }

  /**
   * Deletes those of these revisions that nothing uses, beyond the newest that the pool wants kept; a revision that has
   * changed since the cache saw it stays.
   */
  async prune(key: PoolKey, names: readonly string[]): Promise<void> {
    const pool = await livePool(this.#client, key);
    if (pool === undefined) return;
    const known = this.#cache.revisions.of(key);
    const unused = revisionsToPrune(pool, known, this.#inUse(pool));
    const surplus = known.filter(({ name }) => names.includes(name) && unused.includes(name));
    for (const { namespace, name, uid, resourceVersion } of surplus) {
      // Another worker may just have made this revision the newest again.
      await ignoreStale(this.#client.delete(ControllerRevisions, { namespace, name }, { uid, resourceVersion }));
    }
  }

  /** The revisions that something in the cluster refers to. */
  #inUse({ metadata, spec, status }: StoredPool): Set<string | null> {
    const { currentRevision = null, rollout } = status ?? {};
    const vms = this.#cache.vms.ownedBy('VirtualMachinePool', metadata);
    return new Set([
      revisionOf(poolTemplate(spec)),
      currentRevision,
      rollout?.revision ?? null,
      ...vms.flatMap((vm) => [vm.revision, this.#cache.vmiOf(vm)?.revision ?? null]),
      ...this.#cache.vms.uncontrolledIn(metadata.namespace).map((vm) => vm.revision),
      ...this.#cache.keptClaims.of(metadata).map(({ kept }) => kept.revision),
    ]);
  }

  /** Not from the cache: a number that is too low would make an older template the newest. */
  async #listOf({ metadata: { namespace, name } }: StoredPool): Promise<Stored<ControllerRevision>[]> {
    const labelSelector = `${POOL_LABEL}=${name}`;
    return (await this.#client.list<ControllerRevision>(ControllerRevisions, { namespace, labelSelector })).items;
  }

  /**
   * Throws a conflict, "already exists" or "not found" if another worker interferes. `list`: those that exist with the
   * pool's label; what has the name without it is only met, and read, after a try.
   */
  async #makeNewest(
    pool: StoredPool,
    revision: string,
    { live, list, tries }: { live: StoredPool; list: readonly Stored<ControllerRevision>[]; tries: number },
  ): Promise<void> {
    const { namespace, name: poolName } = pool.metadata;
    const name = revisionName(poolName, revision);
    const labels = { [POOL_LABEL]: poolName, [REVISION_LABEL]: revision };
    const others = list.filter((one) => isRevisionOf(pool, one) && one.metadata.name !== name);
    const newest = Math.max(0, ...others.map((one) => one.revision));
    const listed = list.find((one) => one.metadata.name === name);
    const existing = listed ?? (tries === 1 ? undefined : await this.#get(namespace, name));
    const { requestedBy, changeCause } = originOf(live, revision);

    if (existing !== undefined && isOf(pool, existing)) {
      const isLabelled = Object.entries(labels).every(([key, value]) => existing.metadata.labels?.[key] === value);
      if (existing.revision > newest && isLabelled) return;
      const annotations = {
        [REQUESTED_BY_ANNOTATION]: requestedBy ?? null,
        [CHANGE_CAUSE_ANNOTATION]: changeCause ?? null,
      };
      const metadata = { resourceVersion: existing.metadata.resourceVersion, labels, annotations };
      await this.#client.patch(ControllerRevisions, { namespace, name }, 'merge', {
        metadata,
        revision: Math.max(existing.revision, newest + 1),
      });
      return;
    }
    if (existing !== undefined) {
      refuseForeign(existing);
      await this.#client.delete(ControllerRevisions, { namespace, name }, { uid: existing.metadata.uid });
    }
    const annotations = {
      ...(requestedBy === undefined ? {} : { [REQUESTED_BY_ANNOTATION]: requestedBy }),
      ...(changeCause === undefined ? {} : { [CHANGE_CAUSE_ANNOTATION]: changeCause }),
    };
    const ownerReferences = [ownerReference('VirtualMachinePool', pool.metadata)];
    const data = { template: poolTemplate(pool.spec) };
    await this.#client.create<ControllerRevision>(ControllerRevisions, {
      metadata: { namespace, name, labels, annotations, ownerReferences },
      revision: newest + 1,
      data,
    });
  }

  #get(namespace: string, name: string): Promise<Stored<ControllerRevision> | undefined> {
    return ignoreNotFound(this.#client.get<ControllerRevision>(ControllerRevisions, { namespace, name }));
  }
}

/** Returns who asked for a pool's template, and why, as far as the pool says so; otherwise who wrote the template. */
function originOf(
  pool: StoredPool,
  revision: string,
): { requestedBy: string | undefined; changeCause: string | undefined } {
  const { [REQUESTED_BY_ANNOTATION]: requester, [CHANGE_CAUSE_ANNOTATION]: changeCause } =
    pool.metadata.annotations ?? {};
  return { requestedBy: requesterOf(requester, revision) ?? writerOfTemplate(pool), changeCause };
}

/** Reports whether this keeps a template of the pool, as only drover writes it. */
const isRevisionOf = (pool: StoredPool, one: Stored<ControllerRevision>): boolean =>
  isControlledBy(one, VirtualMachinePools, pool.metadata) && revisionView(one) !== null;

/** Reports whether this is what `keep` would have created from this pool's template. */
const isOf = (pool: StoredPool, existing: Stored<ControllerRevision>): boolean =>
  isControlledBy(existing, VirtualMachinePools, pool.metadata) &&
  canonical(existing.data?.template) === canonical(poolTemplate(pool.spec));

/** Throws unless a pool has left this behind: only then may it be replaced. Without an owner, drover's label tells. */
function refuseForeign({ metadata, ...rest }: Stored<ControllerRevision>): void {
  const owner = controllerOf({ metadata, ...rest });
  const isPools =
    owner === undefined ? metadata.labels?.[POOL_LABEL] !== undefined : owner.kind === 'VirtualMachinePool';
  if (isPools) return;
  const whose = owner === undefined ? 'an unknown owner' : `${owner.kind} ${owner.name}`;
  throw new Error(`ControllerRevision ${metadata.namespace}/${metadata.name} is taken: it belongs to ${whose}`);
}

interface ManagedFields {
  manager?: string;
  time?: string;
  subresource?: string;
  fieldsV1?: { 'f:spec'?: { 'f:template'?: unknown } };
}

/** Returns the field manager that last wrote the pool's template: `kubectl-edit`, `argocd-controller`, ... */
function writerOfTemplate({ metadata }: StoredPool): string | undefined {
  const writers = (((metadata as ObjectMeta).managedFields ?? []) as ManagedFields[]).filter(
    ({ subresource, fieldsV1 }) => !subresource && fieldsV1?.['f:spec']?.['f:template'] !== undefined,
  );
  return writers.toSorted((a, b) => Date.parse(b.time ?? '') - Date.parse(a.time ?? ''))[0]?.manager;
}
