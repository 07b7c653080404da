import { toKubeVirtPool } from '../../api/manifest/to-kubevirt-pool.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { apiVersionOf, KubeVirtPools, VirtualMachinePools, type Resource } from '../../api/resources.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import {
  pausedPoolOf,
  resumingPatch,
  whyNotReleased,
  type KubeVirtPool,
} from '../../decisions/membership/kubevirt-pool.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { oneTargetOf } from '../cli/targets.ts';
import { inTime, watchUntil } from '../cli/watch-until.ts';
import type { Work } from '../session/session.ts';
import { controlledBy } from './controlled-vms.ts';
import { requestHandover, poolAt, type HandoverOptions, type PoolAt } from './request-members.ts';
import { kubeVirtPoolsOf } from './takeover.ts';

/**
 * Has a worker move the VMs of a pool to a KubeVirt pool of the same name, also if a takeover of that has not ended,
 * and deletes the pool.
 */
export const releasePool: Work<HandoverOptions> = async (session, options, ...args) => {
  const { name } = oneTargetOf(args, [Pools]);
  const key = { namespace: await session.namespace(), name };
  const { dryRun, timeout } = options;
  const kube = await session.kube();
  const resource = await kubeVirtPoolsOf(kube);
  const find = (): Promise<Stored<KubeVirtPool> | undefined> => ignoreNotFound(kube.get<KubeVirtPool>(resource, key));
  const [droverPool, kubeVirtPool] = [await poolAt(kube, key), await find()];
  if (droverPool === undefined || droverPool.metadata.deletionTimestamp !== undefined)
    return resume(kube, resource, key, { kubeVirtPool, dryRun });
  const vms = await controlledBy(kube, VirtualMachinePools, droverPool);
  const isStaying = kubeVirtPool !== undefined && kubeVirtPool.metadata.deletionTimestamp === undefined;
  const message = whyNotReleased(poolView(droverPool), isStaying ? kubeVirtPool : undefined, vms);
  if (message !== null) throw new Failure(message);
  if (!isStaying) await preview(kube, resource, droverPool, dryRun);
  if (dryRun !== 'none')
    return print(
      `${labelOf(KubeVirtPools, key.name)} would get ${vms.length} VMs of pool ${key.name}${dryRunSuffix(dryRun)}`,
    );
  const count = await requestHandover(session, droverPool, { action: 'release' }, options);
  const { uid } = droverPool.metadata;
  await ignoreNotFound(kube.delete(VirtualMachinePools, key, { uid, propagationPolicy: 'Orphan' }));
  const { namespace } = key;
  const isGone = await inTime(timeout ?? 0, (signal) =>
    watchUntil({ kube, resource: VirtualMachinePools, namespace, signal }, (present) => !present.has(uid)),
  );
  if (!isGone) throw new Failure(`pool ${key.name} is not deleted yet; drover continues with it`);
  print(`${labelOf(KubeVirtPools, key.name)} has ${count}`);
};

/** Says what KubeVirt's pool will lack, and has the API server judge it in its own dry run. */
async function preview(kube: KubeClient, resource: Resource, droverPool: Stored<Pool>, dryRun: DryRun): Promise<void> {
  const { namespace, name } = droverPool.metadata;
  const { spec, notes } = toKubeVirtPool(name, droverPool.spec);
  for (const line of notes) printNote(line);
  if (dryRun !== 'server') return;
  const metadata = { namespace: namespace!, name };
  const pool: KubeObject = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec };
  await kube.create(resource, pool, { dryRun: true });
}

/** Lets a KubeVirt pool continue whose takeover ended with the deletion of drover's pool. */
async function resume(
  kube: KubeClient,
  resource: Resource,
  { namespace, name }: PoolAt,
  { kubeVirtPool, dryRun }: { kubeVirtPool: Stored<KubeVirtPool> | undefined; dryRun: DryRun },
): Promise<void> {
  const before = kubeVirtPool === undefined ? null : pausedPoolOf(kubeVirtPool);
  if (before === null) throw new Failure(`there is no drover pool ${name} in namespace ${namespace}`);
  if (dryRun === 'none')
    await kube.patch(resource, { namespace, name }, 'merge', resumingPatch(kubeVirtPool!, before, false));
  print(`${labelOf(KubeVirtPools, name)} continues as it was${dryRunSuffix(dryRun)}`);
}
