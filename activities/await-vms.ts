import { cancellationSignal, Context } from '@temporalio/activity';
import { liveVmi } from '../decisions/availability.ts';
import type { HeldVm, UpdateOutcome } from '../decisions/batch.ts';
import { standingOf, type Standing } from '../decisions/standing.ts';
import type { Seen } from '../decisions/versions.ts';
import type { VmTemplate } from '../api/pool.ts';
import type { VmView } from '../decisions/vm.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isConflict, isNotFound } from '../kubernetes/errors.ts';
import { VirtualMachineInstances } from '../kubernetes/resources.ts';
import { Changes } from './changes.ts';
import type { Fleet } from './fleet.ts';
import { guestMetadataPatch } from './guest-metadata.ts';
import type { PoolKey } from './pool.ts';
import type { Revisions } from './revisions.ts';
import { recordUpdates } from './update-events.ts';

const HEARTBEAT_MS = 3_000;
/** Events that come together are looked at together. */
const SETTLE_MS = 50;
/** A picture that nothing has changed is looked at again, should a watch have missed something. */
const LOOK_AGAIN_MS = 30_000;

export interface AwaitRequest {
  key: PoolKey;
  revision: string;
  vms: HeldVm[];
  minReadyMs: number;
  /** Milliseconds since the epoch. */
  deadline: number;
  seen: Seen;
}

export interface AwaitOptions {
  client: KubeClient;
  fleet: Fleet;
  revisions: Revisions;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
}

export function createAwaitActivities({ client, fleet, revisions, stopping }: AwaitOptions) {
  return {
    /**
     * Waits until each of these VMs is well at its new revision, or can't be, or the deadline is there. It reads nothing but
     * this worker's caches; only a guest that has taken a live update is written to, with the revision that it now runs.
     */
    async awaitVms({ key, revision, vms, minReadyMs, deadline, seen }: AwaitRequest): Promise<{ outcomes: UpdateOutcome[]; seen: Seen }> {
      const { heartbeat } = Context.current();
      const outcomes: UpdateOutcome[] = [];
      const beat = setInterval(() => heartbeat(outcomes.length), HEARTBEAT_MS);
      const names = new Set(vms.map((vm) => vm.name));
      const changes = new Changes(fleet, stopping, ({ kind, namespace, name }) => kind !== 'pool' && namespace === key.namespace && names.has(name));
      try {
        await fleet.catchUp(seen);
        const template = await revisions.find(key, revision);
        const pending = new Map(vms.map((vm) => [vm.name, vm]));
        if (template === undefined) return { outcomes: vms.map(({ name }) => gone(name)), seen: {} };
        for (;;) {
          cancellationSignal().throwIfAborted();
          const now = Date.now();
          let wakeAt = Math.min(deadline, now + LOOK_AGAIN_MS);
          for (const held of pending.values()) {
            const vm = ownedVm(key, held.name);
            const standing = standingOf({ held, revision, template, vm, vmiOf: (one) => fleet.vmiOf(one), minReadyMs, now });
            if (standing.state === 'applied') await label(key, vm!, template);
            const outcome = outcomeOf(held, standing, now >= deadline);
            if (outcome !== null) {
              outcomes.push(outcome);
              pending.delete(held.name);
            } else if (standing.state === 'waiting' && standing.until !== undefined) wakeAt = Math.min(wakeAt, standing.until);
          }
          if (pending.size === 0) {
            const pool = fleet.pools.get(`${key.namespace}/${key.name}`);
            if (pool?.metadata.uid === key.uid) await recordUpdates(client, pool, revision, outcomes);
            return { outcomes, seen: { vms: String(fleet.vms.version), vmis: String(fleet.vmis.version) } };
          }
          await changes.next(Math.max(wakeAt - Date.now(), 1), SETTLE_MS);
        }
      } finally {
        clearInterval(beat);
        changes.stop();
      }
    },
  };

  function ownedVm({ namespace, uid }: PoolKey, name: string): VmView | undefined {
    const vm = fleet.vms.get(`${namespace}/${name}`);
    return vm?.owner?.uid === uid ? vm : undefined;
  }

  /** Says on the VMI which revision its guest now runs; one that is another by now is left alone. */
  async function label(key: PoolKey, vm: VmView, to: VmTemplate): Promise<void> {
    const guest = liveVmi(fleet.vmiOf(vm));
    const from = guest?.revision == null ? undefined : await revisions.find(key, guest.revision);
    if (guest === undefined) return;
    const patch = { metadata: { uid: guest.uid, ...guestMetadataPatch(key.name, from ?? to, to) } };
    try {
      await client.patch(VirtualMachineInstances, guest, 'merge', patch, { signal: cancellationSignal() });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

export type AwaitActivities = ReturnType<typeof createAwaitActivities>;

const gone = (vm: string): UpdateOutcome => ({ vm, end: 'Gone' });

function outcomeOf({ name: vm }: HeldVm, standing: Standing, isLate: boolean): UpdateOutcome | null {
  switch (standing.state) {
    case 'well':
      return { vm, end: 'Updated' };
    case 'gone':
      return gone(vm);
    case 'refused':
      return { vm, end: 'RestartRequired', why: standing.why };
    case 'applied':
      return null;
    case 'waiting':
      return isLate ? { vm, end: 'Failed', why: `not ready in time: it waited for ${standing.for}` } : null;
  }
}
