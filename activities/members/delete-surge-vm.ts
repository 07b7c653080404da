import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { whyNotNow } from '../../decisions/disruption/reasons.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { isOwnedBy, isSurge } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { actInPool, NotAdmitted } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { IfOwnedOptions, OwnedActResult, OwnedVm } from '../owners/if-owned.ts';
import { liveVmWithVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import { deleteVm } from './delete-member.ts';

/** Otherwise the next plan, which may not know all claims yet, would request the deletion again at once. */
const PAUSE_MS = 2_000;

/**
 * Deletes an extra VM, which takes a claim on the pool's disruption budget: others may be down because it stands in for
 * them. Without a claim, it stays.
 */
export async function deleteSurgeVm(
  { client, cache, claims }: { client: KubeClient; cache: ClusterCache; claims: DisruptionClaims },
  key: PoolKey,
  vm: OwnedVm,
  isWanted: IfOwnedOptions['isWanted'],
): Promise<OwnedActResult> {
  const at = { namespace: key.namespace, name: vm.name };
  const { vm: now, vmi } = (await liveVmWithVmi({ client, cache }, at)) ?? {};
  const isMeant = now?.uid === vm.uid && isOwnedBy(now, 'VirtualMachinePool', key) && isSurge(now) && !now.deleting;
  if (!isMeant || now.protected || whyNotNow(now, liveVmi(vmi)) !== null) return { skippedAt: now?.resourceVersion };
  const target = { vm: now, vmi, reason: 'Removal', pool: key } as const;
  const acted = await actInPool(claims, target, async ({ lastCheck }) => {
    // If it changes meanwhile, the next plan decides again.
    const options = { propagationPolicy: 'Background', isWanted, lastCheck, tries: 1 } as const;
    const value = await deleteVm({ client, cache }, key, { ...vm, resourceVersion: now.resourceVersion }, options);
    return { isDone: value === 'done', value };
  });
  if (!(acted instanceof NotAdmitted)) return acted;
  await sleep(PAUSE_MS, undefined, { signal: cancellationSignal() });
  return 'notWanted';
}
