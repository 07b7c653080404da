import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { MEMBERS_MANAGER, MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import { isControlledBy } from '../../api/ownership.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { correctionOf, isListed, membershipChangeOf, type ListedChange } from '../../decisions/membership/change.ts';
import { isOfEarlierPool, isSilent } from '../../decisions/membership/silent-change.ts';
import { countedIn } from '../../decisions/pool/counted.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { recordEvent } from '../lib/events.ts';
import { livePool } from '../owners/live-owner.ts';
import type { PoolKey } from '../owners/types.ts';

/**
 * Takes a change off the pool whose command says nothing any more, if its annotation is still `mark`, and sets right
 * the number of VMs that the pool wants: which VMs have moved, their owner references say. A pool whose status does not
 * count all its VMs is left held: it would make VMs for those that a cache has not seen. Returns the versions that a
 * later plan must have seen. Throws a failure that Temporal does not retry if the pool is left held.
 */
export async function endMembershipChange(client: KubeClient, key: PoolKey, mark: string): Promise<ResourceVersions> {
  const { namespace } = key;
  const signal = cancellationSignal();
  let minVersions: ResourceVersions = {};
  await retryOnConflict(async () => {
    const pool = await livePool(client, key, signal);
    if (pool?.metadata.annotations?.[MEMBERSHIP_CHANGE_ANNOTATION] !== mark) return;
    const change = membershipChangeOf(pool);
    if (change === null || change === 'unreadable' || !isListed(change)) return;
    if (!isSilent(change, Math.max(Date.now(), client.clock.now()))) return;
    const { items, metadata } = await client.list(VirtualMachines, { namespace, signal });
    minVersions = maxVersions(minVersions, { vms: metadata.resourceVersion });
    const members = items.filter((vm) => isControlledBy(vm, VirtualMachinePools, key));
    const counted = members.filter(countedIn(pool));
    const { resourceVersion, generation } = pool.metadata;
    if (pool.status?.observedGeneration !== generation || pool.status?.replicas !== counted.length) throw notCounted();
    const uids = new Set(members.map((vm) => vm.metadata.uid));
    // Which VMs had moved when the backup was made, nothing tells: the number stays what it was then.
    const correction = isOfEarlierPool(change, pool) ? 0 : correctionOf(change, ({ uid }) => uids.has(uid));
    const replicas = Math.max(pool.spec.replicas + correction, 0);
    const patch = {
      metadata: { resourceVersion, annotations: { [MEMBERSHIP_CHANGE_ANNOTATION]: null } },
      ...(correction === 0 ? {} : { spec: { replicas } }),
    };
    const options = { signal, fieldManager: MEMBERS_MANAGER };
    const written = await client.patch(VirtualMachinePools, key, 'merge', patch, options);
    minVersions = maxVersions(minVersions, { pools: written.metadata.resourceVersion });
    const note = `${whatWasDone(change, uids)}, and the command of ${change.by} stopped reporting: the pool continues with ${replicas} replicas`;
    await recordEvent(client, pool, {
      type: 'Warning',
      reason: 'MembershipChangeAbandoned',
      action: 'ChangeMembers',
      note,
    });
  });
  return minVersions;
}

const notCounted = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('the status of the pool does not count all its VMs yet', 'NotCounted');

function whatWasDone({ kind, vms }: ListedChange, members: ReadonlySet<string>): string {
  const moved = vms.filter(({ uid }) => members.has(uid) === (kind === 'adopt'));
  const others = vms.filter((vm) => !moved.includes(vm));
  const names = (of: typeof vms): string => (of.length === 0 ? 'none' : formatNames(of.map(({ name }) => name)));
  const words = kind === 'adopt' ? 'Adopted' : 'Detached';
  return `${words} ${names(moved)} of ${vms.length}${others.length === 0 ? '' : `, not ${names(others)}`}`;
}
