import { Context } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Target, Member } from '../../decisions/owners/steps.ts';
import { containedPlan } from '../../decisions/pool/contained-plan.ts';
import { unrecorded } from '../../decisions/pool/on-record.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { mislabelled } from '../cache/objects/known-roles.ts';
import { snapshotOf } from '../cache/snapshot.ts';
import { createDiskActivities } from '../disks/disk-activities.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import { planLook } from '../disruption-budget/plan-look.ts';
import { clampedNow, requireOwnLocalCall, type OwnerIdOf, planned, type OnPlanned } from '../lib/planned.ts';
import { serverLost } from '../lib/shutdown.ts';
import { createReleaseActivities } from '../members/release-vms.ts';
import { createScaleInActivities } from '../members/scale-in.ts';
import { createNamedAdoptionActivities } from '../membership/adopt-named.ts';
import { createReturnActivities } from '../membership/adopt-returned.ts';
import { changeMembers, type MembersChanged } from '../membership/change-members.ts';
import { createLabelActivities } from '../membership/label-vms.ts';
import { removeDiskFinalizers } from '../membership/remove-disk-finalizers.ts';
import { setRoles } from '../membership/role-record.ts';
import type { Done } from '../owners/done.ts';
import { setFinalizer } from '../owners/finalizer.ts';
import { keepReplicas } from '../owners/keep-replicas.ts';
import { knownPool, livePool } from '../owners/live-owner.ts';
import type { OwnerKey, PoolKey } from '../owners/owner-key.ts';
import type { PlanRequest, Planned, IncompleteInput } from '../owners/plan-request.ts';
import { recordUid } from '../owners/record-uid.ts';
import { writeFound } from '../owners/status.ts';
import type { Acted } from '../owners/try-each.ts';
import { BatchCache } from '../rollout/batch-cache.ts';
import type { Revisions } from '../rollout/revisions.ts';
import { clearNamedRemovals } from './clear-named-removals.ts';
import { createCreationActivities } from './create-vms.ts';
import { createStandbyActivities } from './standby/standby.ts';

export interface PoolActivityOptions extends ActivityOptions {
  claims: DisruptionClaims;
  revisions: Revisions;
  ownerIdOf: OwnerIdOf;
  /** Maximum number of VMs of a pool in flight, creations and deletions each. */
  burst: number;
  onPlanned?: OnPlanned<PoolPlan>;
}

export function createPoolActivities(options: PoolActivityOptions) {
  const { client, cache, claims, revisions, ownerIdOf, burst, concurrency, onPlanned } = options;
  const batchCache = new BatchCache();
  return {
    /**
     * Returns the next steps of a pool, planned on a snapshot that is not older than `minVersions`. A local activity:
     * it writes nothing but the status that it has found, before any step begins. Its times are those of the workflow,
     * whose clock may be wrong by a minute.
     */
    async plan(request: PlanRequest): Promise<Planned | IncompleteInput> {
      const { namespace, name, minVersions, resultUnknown, ...rest } = request;
      if (cache.lost.aborted) throw serverLost();
      requireOwnLocalCall(ownerIdOf, 'VirtualMachinePool', request);
      const now = clampedNow(request.now);
      const batches = batchCache.of(Context.current().info.workflowExecution?.runId ?? '', request.batches);
      if (batches === null) return { incomplete: true };
      if (resultUnknown) await cache.vms.relist({ namespace });
      let reached = await cache.catchUp(minVersions, { namespace });
      let pool: StoredPool | undefined;
      const asked = new Set<string>();
      for (;;) {
        pool = await knownPool(client, cache, { namespace, name });
        if (pool === undefined || cache.isDelegated(namespace)) return { gone: true };
        await revisions.expandAll(pool);
        // The record may be newer than this cache, and a VM that was made for it is not a surplus replica. Looked at
        // after all that is waited for, since the next VM may have come meanwhile.
        const strange = mislabelled(cache, pool).filter((uid) => !asked.has(uid));
        // Only the API server can say that it has forgotten writes.
        if ((pool.status?.writes ?? 0) < (request.writes ?? 0)) strange.push(pool.metadata.uid);
        if (strange.every((uid) => asked.has(uid))) break;
        for (const uid of strange) asked.add(uid);
        const live = await livePool(client, { namespace, name, uid: pool.metadata.uid });
        reached = await cache.catchUp({ ...minVersions, pools: live?.metadata.resourceVersion }, { namespace });
      }
      const { uid, generation = 0 } = pool.metadata;
      const key = { namespace, name, uid };
      const whyHeld = planLook(claims, cache);
      const input = { ...snapshotOf(cache, pool), ...rest, whyHeld, now, batches, burst };
      const plan = planned({ kind: 'VirtualMachinePool', namespace, name }, () => containedPlan(input), onPlanned);
      const { status, events } = plan;
      const known = await writeFound(options, request, reached, { key, seen: pool, status, events });
      const { status: _, ...found } = known.isRecorded ? plan : unrecorded(plan);
      const requeueAt = plan.requeueAt === null ? null : plan.requeueAt - now + request.now;
      return { gone: false, key, generation, ...known, ...found, requeueAt };
    },

    ...createCreationActivities(options),
    ...createDiskActivities(options),
    ...createScaleInActivities(options),
    ...createReleaseActivities(options),
    ...createStandbyActivities(options),
    ...createLabelActivities(options),
    ...createReturnActivities(options),
    ...createNamedAdoptionActivities(options),

    setFinalizer: (key: OwnerKey, isSet: boolean): Promise<Done> => setFinalizer(client, key, isSet),
    keepReplicas: (key: OwnerKey): Promise<ResourceVersions> => keepReplicas(client, key),
    recordUid: (key: OwnerKey): Promise<Done> => recordUid(client, key),

    /** Keeps the pool's template, in case it changes. */
    async createRevision(key: PoolKey): Promise<void> {
      const pool = await knownPool(client, cache, key);
      if (pool !== undefined) await revisions.keep(pool);
    },
    deleteRevisions: (key: PoolKey, names: string[]): Promise<void> => revisions.prune(key, names),

    clearNamedRemovals: (key: PoolKey, vms: Member[]): Promise<ResourceVersions> =>
      clearNamedRemovals(client, key, vms, concurrency),
    removeDiskFinalizers: (key: PoolKey, vms: Target[]): Promise<Acted> =>
      removeDiskFinalizers(client, key, vms, concurrency),
    setRoles: (key: PoolKey, vms: Target[]): Promise<ResourceVersions> => setRoles(client, key, vms, concurrency),
    changeMembers: (key: PoolKey): Promise<MembersChanged> => changeMembers(client, key, concurrency),
  };
}

export type PoolActivities = ReturnType<typeof createPoolActivities>;
