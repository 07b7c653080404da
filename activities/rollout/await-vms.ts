import { cancellationSignal } from '@temporalio/activity';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { VirtualMachineInstances } from '../../api/resources.ts';
import { liveVmi } from '../../decisions/disruption-budget/availability.ts';
import { countsFrom } from '../../decisions/disruption/grace.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/rollout/batch.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { progressOf, type UpdateProgress } from '../../decisions/vm-update/progress.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitFor } from '../cache/wait-for.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { PoolKey } from '../owners/types.ts';
import { recordUpdates } from './events.ts';
import type { Revisions } from './revisions.ts';
import { vmiMetadataPatch } from './vmi-metadata.ts';

export interface AwaitRequest {
  key: PoolKey;
  revision: string;
  vms: BatchVm[];
  minReadyMs: number;
  /** Since when the VMs are waited for, in milliseconds since the epoch; and how long each may take then. */
  since: number;
  deadlineMs: number;
  minVersions: ResourceVersions;
}

export interface AwaitOptions {
  client: KubeClient;
  cache: ClusterCache;
  revisions: Revisions;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

export function createAwaitActivities({ client, cache, revisions, stopping }: AwaitOptions) {
  return {
    /**
     * Waits until each of these VMs is available at its new revision, can't get there, or the deadline has passed.
     * Looks at this worker's caches, asks the API server only about late VMs, and writes only to a VMI that has taken a
     * live update: the revision that it now runs.
     */
    awaitVms: ({
      key,
      revision,
      vms,
      minReadyMs,
      since,
      deadlineMs,
      minVersions,
    }: AwaitRequest): Promise<{ outcomes: UpdateOutcome[]; minVersions: ResourceVersions }> =>
      withHeartbeat(async () => {
        await cache.catchUp(minVersions);
        const template = await revisions.find(key, revision);
        if (template === undefined) return { outcomes: vms.map(({ name }) => gone(name)), minVersions: {} };
        const expanded = await revisions.expanded(key, revision);
        const pending = new Map(vms.map((vm) => [vm.name, vm]));
        const names = new Set(pending.keys());
        const isRelevant = ({ kind, namespace, name }: Changed): boolean =>
          kind !== 'pool' && namespace === key.namespace && names.has(name);
        const outcomes: UpdateOutcome[] = [];
        const awaited = await waitFor({ cache, stopping, minVersions, isRelevant }, async (now, isConfirmed) => {
          const times: number[] = [];
          const late: string[] = [];
          for (const held of pending.values()) {
            const vm = ownedVm(key, held.name);
            const progress = progressOf({
              held,
              revision,
              vm,
              vmiOf: (one) => cache.vmiOf(one),
              expansion: expanded && { of: template, to: expanded },
              minReadyMs,
              now,
            });
            const vmi = vm && cache.vmiOf(vm);
            const deadline = countedFrom({ held, vm, vmi, revision, since, deadlineMs, now }) + deadlineMs;
            if (now < deadline) times.push(deadline);
            if (progress.state === 'applied') await label(key, vm!, template);
            const outcome = outcomeOf(held, progress, now >= deadline);
            if (outcome?.end === 'Failed' && !isConfirmed) late.push(`${key.namespace}/${held.name}`);
            else if (outcome !== null) {
              outcomes.push(outcome);
              pending.delete(held.name);
            } else if (progress.state === 'waiting' && progress.until !== undefined) times.push(progress.until);
          }
          const found = { outcomes, minVersions: cache.versionsOf('vms', 'vmis') };
          return { found, worth: pending.size === 0 ? 'enough' : 'nothing', shouldReport: false, times, late };
        });
        const pool = cache.pools.get(`${key.namespace}/${key.name}`);
        if (pool?.metadata.uid === key.uid) await recordUpdates(client, pool, revision, outcomes);
        return awaited;
      }),
  };

  function ownedVm(key: PoolKey, name: string): VmView | undefined {
    const vm = cache.vms.get(`${key.namespace}/${name}`);
    return vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', key) ? vm : undefined;
  }

  /** Writes to the VMI which revision it now runs; leaves it alone if it is another VMI by now. */
  async function label(key: PoolKey, vm: VmView, to: VmTemplate): Promise<void> {
    const vmi = liveVmi(cache.vmiOf(vm));
    const from = vmi?.revision == null ? undefined : await revisions.find(key, vmi.revision);
    if (vmi === undefined) return;
    const patch = { metadata: { uid: vmi.uid, ...vmiMetadataPatch(key.name, from ?? to, to, vmi) } };
    await ignoreStale(client.patch(VirtualMachineInstances, vmi, 'merge', patch, { signal: cancellationSignal() }));
  }
}

export type AwaitActivities = ReturnType<typeof createAwaitActivities>;

/** From when the time of a VM counts, in milliseconds since the epoch. */
function countedFrom({ held, vm, vmi, revision, since, deadlineMs, now }: Waited): number {
  const { graceMs, migration } = held;
  // KubeVirt migrates a few VMIs at once, and has others to do first; but nothing waits for ever.
  if (migration !== undefined && vmi?.uid === migration.vmi && vmi.evacuation?.attempt === migration.attempt)
    return Math.min(Math.max(vmi.evacuation.begunAt ?? now, since), since + deadlineMs);
  const isOld = (one: VmiView): boolean => one.deleting || one.revision !== revision || one.uid === held.vmi;
  return countsFrom(graceMs === undefined ? { since } : { since, graceMs }, vm, vmi, isOld);
}

interface Waited {
  held: BatchVm;
  vm: VmView | undefined;
  vmi: VmiView | undefined;
  revision: string;
  since: number;
  deadlineMs: number;
  now: number;
}

const gone = (vm: string): UpdateOutcome => ({ vm, end: 'Gone' });

function outcomeOf({ name: vm }: BatchVm, progress: UpdateProgress, isLate: boolean): UpdateOutcome | null {
  switch (progress.state) {
    case 'well':
      return { vm, end: 'Updated' };
    case 'gone':
      return gone(vm);
    case 'refused':
      return { vm, end: 'RestartRequired', why: progress.why };
    case 'failed':
      return { vm, end: 'Failed', why: progress.why };
    case 'applied':
      return null;
    case 'waiting':
      return isLate ? { vm, end: 'Failed', why: `not ready in time: it waited for ${progress.for}` } : null;
  }
}
