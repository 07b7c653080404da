import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { KubeVirtPools, VirtualMachinePools } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { membershipChangeOf, type MembersReport } from '../../decisions/membership/change.ts';
import { whyNotTakenOver, type KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import type { MembershipRequest } from '../../decisions/membership/membership-request.ts';
import { joinPatches } from '../../decisions/membership/moves.ts';
import type { FoundRequest } from '../../decisions/owners/request.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict, whileFresh } from '../../kubernetes/retry.ts';
import { KubeVirtPoolOf, refusal } from './kubevirt-pool.ts';
import { deleteRevisionsOf } from './kubevirt-revisions.ts';
import type { MembersRun } from './members-run.ts';

/** How often VMs are looked for that KubeVirt has made meanwhile. */
const ROUNDS = 5;

type StoredKubeVirtPool = Stored<KubeVirtPool>;
type TakeoverRequest = Extract<MembershipRequest, { action: 'takeover' }>;

/** Moves the VMs of KubeVirt's pool, which is paused, and deletes that. Null if it is no longer requested. */
export async function takeOver(
  run: MembersRun,
  request: TakeoverRequest,
  { digest }: Pick<FoundRequest, 'digest'>,
): Promise<MembersReport | null> {
  const kubeVirt = await KubeVirtPoolOf.find(run);
  const kubeVirtPool = await kubeVirt.get();
  // Without it, all VMs are here that there are.
  if (
    kubeVirtPool !== undefined &&
    kubeVirtPool.metadata.uid === request.uid &&
    kubeVirtPool.metadata.deletionTimestamp === undefined
  ) {
    try {
      await moveAll(run, kubeVirt, request, digest);
    } catch (error) {
      const own = await run.controlledBy(VirtualMachinePools, run.key.uid);
      // Nothing has come of it: KubeVirt's pool continues.
      if (isRefusal(error) && own.length === 0) await kubeVirt.resume(digest, async () => false);
      throw error;
    }
  }
  return retryOnConflict(() => end(run, digest));
}

async function moveAll(
  run: MembersRun,
  kubeVirt: KubeVirtPoolOf,
  request: TakeoverRequest,
  digest: string,
): Promise<void> {
  const { name } = run.key;
  const isMeant = (now: StoredKubeVirtPool | undefined): boolean =>
    now?.metadata.uid === request.uid && now?.metadata.generation === request.generation;
  if ((await run.requestedPool(digest)) === undefined) return;
  const kubeVirtPool = await kubeVirt.pause(digest, (now) =>
    isMeant(now) ? null : `KubeVirt pool ${name} was changed meanwhile: run the command again`,
  );
  await kubeVirt.untilPaused();
  for (let round = 0; round < ROUNDS; round++) {
    const pool = await run.requestedPool(digest);
    const vms = await run.controlledBy(KubeVirtPools, kubeVirtPool.metadata.uid);
    if (pool === undefined) return;
    if (vms.length === 0) return deleteEmptied(run, kubeVirt, kubeVirtPool, digest);
    const own = (await run.controlledBy(VirtualMachinePools, run.key.uid)).length;
    const moving = vms.map(({ vm }) => vm);
    const message = whyNotTakenOver(kubeVirtPool, moving, { own, wanted: pool.spec.replicas });
    if (message !== null) throw refusal(message);
    await run.moveEach(
      moving.map(({ metadata }) => metadata),
      digest,
      (read) => joinPatches(pool, read, kubeVirtPool.metadata.uid, run.client.clock.now()),
    );
    for (const [vm, message] of run.refused) throw refusal(`vm ${vm} could not be taken over: ${message}`);
  }
  throw refusal(`KubeVirt pool ${name} makes VMs: run the command again`);
}

/** Deletes KubeVirt's pool. Refuses if a user has unpaused it: it has made others by then. */
const deleteEmptied = (
  run: MembersRun,
  kubeVirt: KubeVirtPoolOf,
  kubeVirtPool: StoredKubeVirtPool,
  digest: string,
): Promise<void> =>
  retryOnConflict(() =>
    whileFresh(async (lastCheck) => {
      const { uid, name } = kubeVirtPool.metadata;
      const now = await kubeVirt.get();
      if (now?.metadata.uid !== uid || (await run.requestedPool(digest)) === undefined) return;
      const made = (await run.controlledBy(KubeVirtPools, uid)).map(({ vm }) => vm.metadata.name);
      if (made.length > 0 || now.spec.paused !== true) {
        const which = made.length === 0 ? '' : `, which has made ${formatNames(made)}`;
        throw refusal(`a user has unpaused KubeVirt pool ${name}${which}: run the command again`);
      }
      await deleteRevisionsOf(run, now);
      await kubeVirt.delete(now, lastCheck);
    }),
  );

/** Lets drover's pool continue, which has all VMs. A plan that has not seen them all would make others. */
async function end(run: MembersRun, digest: string): Promise<MembersReport | null> {
  const pool = await run.requestedPool(digest);
  if (pool === undefined) return null;
  const members = await run.controlledBy(VirtualMachinePools, run.key.uid);
  for (const { vm, vmi } of members) run.saw({ vms: vm.metadata.resourceVersion, vmis: vmi?.metadata.resourceVersion });
  if (membershipChangeOf(pool) !== null) await run.write(pool, { [MEMBERSHIP_CHANGE_ANNOTATION]: null });
  return { digest, moved: members.map(({ vm }) => vm.metadata.name) };
}
