import { toKubeVirtPool } from '../../api/manifest/to-kubevirt-pool.ts';
import type { Stored } from '../../api/objects.ts';
import { KubeVirtPools, VirtualMachinePools } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { changeAnnotation, membershipChangeOf, type MembersReport } from '../../decisions/membership/change.ts';
import { stillExternal } from '../../decisions/membership/eviction-strategy.ts';
import {
  pausedAnnotation,
  pausedPoolOf,
  releasePatches,
  restartedByKubeVirt,
  whyNoMatch,
  whyNotReleased,
  type KubeVirtPool,
} from '../../decisions/membership/kubevirt-pool.ts';
import type { Vm } from '../../decisions/membership/moves.ts';
import { isSameTemplate } from '../../decisions/membership/same-template.ts';
import type { FoundRequest } from '../../decisions/owners/request.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { KubeVirtPoolOf, refusal } from './kubevirt-pool.ts';
import { currentRevisions, deleteUnusedRevisions, deleteOwnRevisions, revisionFor } from './kubevirt-revisions.ts';
import type { MembersRun } from './members-run.ts';

type StoredKubeVirtPool = Stored<KubeVirtPool>;

/**
 * Moves the VMs of the pool to a KubeVirt pool, which is made unless a takeover has paused it, and continues then if
 * that changes no VM. The pool stays held: the requester deletes it. Null if that is no longer requested, and after the
 * first call, which only holds the pool: what it had begun is finished first.
 */
export async function release(
  run: MembersRun,
  { digest, by }: Pick<FoundRequest, 'digest' | 'by'>,
): Promise<MembersReport | null> {
  const kubeVirt = await KubeVirtPoolOf.find(run);
  const droverPool = await run.requestedPool(digest);
  if (droverPool === undefined) return null;
  const kubeVirtPool = await kubeVirt.staying();
  const vms = (await ownVms(run)).map(({ vm }) => vm);
  const message = whyNotReleased(droverPool, kubeVirtPool, vms);
  if (message !== null) throw refusal(message);
  const change = membershipChangeOf(droverPool);
  if (change === null || change === 'unreadable' || change.kind !== 'release') {
    const at = new Date(run.client.clock.now()).toISOString();
    await run.write(droverPool, changeAnnotation({ kind: 'release', by, at }));
    return null;
  }
  const isOver = vms.length === 0 && kubeVirtPool !== undefined && pausedPoolOf(kubeVirtPool) === null;
  const newOwner = isOver ? kubeVirtPool : await newOwnerOf(kubeVirt, run, { droverPool, kubeVirtPool, digest });
  if (!isOver && !(await handBack(run, droverPool, newOwner, digest))) return null;
  return end(run, kubeVirt, digest);
}

const ownVms = (run: MembersRun): ReturnType<MembersRun['controlledBy']> =>
  run.controlledBy(VirtualMachinePools, run.key.uid);

/** Returns the KubeVirt pool that gets the VMs; it is paused until it has them all. */
async function newOwnerOf(
  kubeVirt: KubeVirtPoolOf,
  run: MembersRun,
  {
    droverPool,
    kubeVirtPool,
    digest,
  }: { droverPool: StoredPool; kubeVirtPool: StoredKubeVirtPool | undefined; digest: string },
): Promise<StoredKubeVirtPool> {
  const { name, namespace } = run.key;
  if (kubeVirtPool !== undefined)
    return kubeVirt.pause(digest, (now) =>
      now?.metadata.uid === kubeVirtPool.metadata.uid
        ? null
        : `KubeVirt pool ${name} was recreated meanwhile: run the command again`,
    );
  await deleteUnusedRevisions(run, async (pool) => {
    const found = await ignoreNotFound(run.client.get(kubeVirt.resource, { namespace, name: pool }));
    return found?.metadata.uid;
  });
  const { paused = false, autohealing, ...spec } = toKubeVirtPool(name, droverPool.spec).spec;
  const annotations = pausedAnnotation({ paused, autohealing: autohealing ?? null, request: digest });
  const { labels } = droverPool.metadata;
  return kubeVirt.create({ ...spec, paused: true }, { ...(labels && { labels }), annotations });
}

/** Hands all VMs over. Returns false if that is no longer requested. */
async function handBack(
  run: MembersRun,
  droverPool: StoredPool,
  kubeVirtPool: StoredKubeVirtPool,
  digest: string,
): Promise<boolean> {
  const { name } = run.key;
  const { virtualMachineTemplate } = toKubeVirtPool(name, droverPool.spec).spec;
  // A user may have changed one of the two templates since the takeover.
  const isSame = isSameTemplate(virtualMachineTemplate, kubeVirtPool.spec['virtualMachineTemplate']);
  const newest = isSame ? revisionOf(poolTemplate(droverPool.spec)) : null;
  const revision = await revisionFor(run, kubeVirtPool);
  const vms = (await ownVms(run)).map(({ vm }) => vm);
  for (const vm of vms) {
    const message = whyNoMatch(kubeVirtPool, vm);
    if (message !== null) throw refusal(`vm ${vm.metadata.name} ${message}`);
  }
  await run.moveEach(
    vms.map(({ metadata }) => metadata),
    digest,
    (read) => releasePatches(droverPool, kubeVirtPool, { newest, revision }, read),
  );
  for (const [vm, message] of run.refused) throw refusal(`vm ${vm} could not be released: ${message}`);
  if ((await run.requestedPool(digest)) === undefined) return false;
  const remaining = (await ownVms(run)).map(({ vm }) => vm.metadata.name);
  if (remaining.length > 0)
    throw refusal(
      `${formatNames(remaining)} stayed with pool ${name}: run the command again once they are not being deleted`,
    );
  return true;
}

/** Lets KubeVirt's pool continue if that changes no VM, and says which it would. */
async function end(run: MembersRun, kubeVirt: KubeVirtPoolOf, digest: string): Promise<MembersReport | null> {
  const kubeVirtPool = await kubeVirt.get();
  if (kubeVirtPool === undefined || (await run.requestedPool(digest)) === undefined) return null;
  await deleteOwnRevisions(run);
  const vms = await run.controlledBy(KubeVirtPools, kubeVirtPool.metadata.uid);
  const othersThan = async (pool: StoredKubeVirtPool): Promise<Vm[]> =>
    restartedByKubeVirt(vms, await currentRevisions(run, pool));
  await kubeVirt.resume(digest, async (pool) => (await othersThan(pool)).length > 0);
  const others = await othersThan(kubeVirtPool);
  const { name } = run.key;
  const unmatched =
    `${formatNames(others.map(({ metadata }) => metadata.name))} do not match the template, and KubeVirt would restart them: ` +
    `its pool stays paused; \`kubectl patch vmpool ${name} --type merge -p '{"spec":{"paused":false}}'\` lets it continue`;
  const notes = [...(others.length === 0 ? [] : [unmatched]), ...[stillExternal(vms) ?? []].flat()];
  const moved = vms.map(({ vm }) => vm.metadata.name);
  return { digest, moved, ...(notes.length === 0 ? {} : { note: notes.join('; ') }) };
}
