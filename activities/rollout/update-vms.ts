import { cancellationSignal } from '@temporalio/activity';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/rollout/batch.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { References } from '../configuration/references.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/types.ts';
import { recordUpdates } from './events.ts';
import { PodMigrator } from './migrate-pods.ts';
import type { Revisions } from './revisions.ts';
import { VmUpdater } from './vm-updater.ts';

export interface UpdateRequest {
  key: PoolKey;
  revision: string;
  /** The revision that is rolled out; not `revision` in an undo. */
  rollout: string;
  vms: BatchVm[];
  /** When the batch began, in milliseconds since the epoch: what was stopped earlier has been resumed since. */
  startedAt: number;
  minVersions: ResourceVersions;
}

export interface Updated {
  /** Outcomes of the VMs that are not waited for. */
  outcomes: UpdateOutcome[];
  minVersions: ResourceVersions;
}

export interface UpdateActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
  revisions: Revisions;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
}

export function createUpdateActivities({ client, cache, places, revisions, concurrency }: UpdateActivityOptions) {
  return {
    /**
     * Writes the revision to each of these VMs and restarts those that need it, VM by VM and within the budget. Leaves
     * alone those that are to be replaced or migrated. Safe to run again at any point: a VM with its new spec carries
     * the revision, and so does a restarted VMI, so what is done is left alone.
     */
    updateVms: (request: UpdateRequest): Promise<Updated> =>
      begun({ ...request, vms: request.vms.filter(({ act }) => act !== 'replace' && act !== 'migrate') }, VmUpdater),

    /**
     * Begins to migrate those of these VMs whose pods lack something of the revision, VM by VM and within the budget:
     * each only if its pool still has that done. Safe to run again at any point: the batch names the migration.
     */
    migrateVms: (request: UpdateRequest): Promise<Updated> =>
      begun({ ...request, vms: request.vms.filter(({ act }) => act === 'migrate') }, PodMigrator),

    /**
     * Deletes those of these VMs that are to be replaced, with their disks, VM by VM and within the budget: each only
     * if its update still takes that, by the pool and the VM as they are, and not if it is leaving the pool. VMs
     * without an outcome are gone, or go. A refusal (by a policy, or the owner's protection) holds up no other VM.
     */
    removeVms: (request: UpdateRequest): Promise<Updated> =>
      begun({ ...request, vms: request.vms.filter(({ act }) => act === 'replace') }, VmUpdater),
  };

  function begun(
    { key, revision, rollout, vms, startedAt, minVersions }: UpdateRequest,
    Updater: typeof VmUpdater | typeof PodMigrator,
  ): Promise<Updated> {
    return withHeartbeat(async () => {
      await cache.catchUp(minVersions);
      const pool = await livePool(client, key, cancellationSignal());
      if (pool === undefined) return { outcomes: vms.map(({ name }) => ({ vm: name, end: 'Gone' })), minVersions: {} };
      if (revisionOf(poolTemplate(pool.spec)) === revision) await revisions.keep(pool);
      const template = await revisions.find(key, revision);
      if (template === undefined) {
        // The template was the pool's only for a moment: no VM has failed because of that.
        return {
          outcomes: vms.map(({ name }) => ({
            vm: name,
            end: 'Deferred',
            why: `the template of revision ${revision} is not kept any more`,
          })),
          minVersions: {},
        };
      }
      const updater = new Updater({
        client,
        cache,
        places,
        revisions,
        key,
        revision,
        rollout,
        template,
        references: new References(client, cancellationSignal()),
        startedAt,
      });
      const outcomes = await forEachConcurrently(updater, vms, concurrency);
      await recordUpdates(client, pool, revision, outcomes);
      return { outcomes, minVersions: updater.minVersions };
    });
  }
}

export type UpdateActivities = ReturnType<typeof createUpdateActivities>;
