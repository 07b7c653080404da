import {
  MEMBERS_MANAGER,
  MEMBERSHIP_CHANGE_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { requesterAnnotation } from '../../api/requested-by.ts';
import { KubeVirtPools, VirtualMachinePools, type Resource } from '../../api/resources.ts';
import { changeAnnotation, membershipChangeOf, unfinished } from '../../decisions/membership/change.ts';
import type { KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kubernetes/errors.ts';
import { kubeVirtPools } from '../../kubernetes/kubevirt-pools.ts';
import { Failure } from '../cli/failure.ts';
import type { Kind } from '../cli/kinds.ts';
import { print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { oneTargetOf } from '../cli/targets.ts';
import { handOver } from '../fields/field-ownership.ts';
import { requestedBy } from '../session/requester.ts';
import type { Work } from '../session/session.ts';
import { controlledBy } from './controlled-vms.ts';
import { requestHandover, hasOpenRequest, poolAt, type HandoverOptions } from './request-members.ts';
import { plan, printPlan, type Plan } from './takeover-plan.ts';

const KubeVirtPoolKind: Kind = {
  resource: KubeVirtPools,
  aliases: ['vmpool', 'vmpools', 'virtualmachinepool.pool.kubevirt.io', 'virtualmachinepools.pool.kubevirt.io'],
  noun: "pool of KubeVirt's",
};

/** Returns the resource in the version that this KubeVirt prefers. Throws `Failure` if it has no pools. */
export async function kubeVirtPoolsOf(kube: KubeClient): Promise<Resource> {
  const resource = await kubeVirtPools(kube);
  if (resource === undefined) throw new Failure(`the cluster's KubeVirt has no pools (${KubeVirtPools.group})`);
  return resource;
}

/**
 * Has a worker move the VMs of a KubeVirt pool to a drover pool of the same name, which is made for that. Run
 * again, it asks for what has not ended.
 */
export const takeOver: Work<HandoverOptions> = async (session, options, ...args) => {
  const { name } = oneTargetOf(args, [KubeVirtPoolKind]);
  const key = { namespace: await session.namespace(), name };
  const { dryRun } = options;
  const kube = await session.kube();
  const kubeVirtPool = await ignoreNotFound(kube.get<KubeVirtPool>(await kubeVirtPoolsOf(kube), key));
  const droverPool = await poolAt(kube, key);
  const isThere = kubeVirtPool !== undefined && kubeVirtPool.metadata.deletionTimestamp === undefined;
  // A worker may have ended what an earlier run, which was stopped, has asked for.
  if (droverPool !== undefined && !isThere && membershipChangeOf(droverPool) === null)
    return print(`nothing is left to take over: there is no KubeVirt pool ${name}, and drover pool ${name} is there`);
  if (droverPool !== undefined) checkBegun(droverPool);
  if (!isThere && droverPool === undefined)
    throw new Failure(
      kubeVirtPool === undefined
        ? `there is no KubeVirt pool ${key.name} in namespace ${key.namespace}`
        : `KubeVirt pool ${key.name} is being deleted`,
    );
  let pool = droverPool;
  let count = 0;
  if (isThere) {
    const planned = await plan(kube, kubeVirtPool, droverPool);
    printPlan(planned);
    count = planned.vms.length;
    if (dryRun !== 'client') pool ??= await create(kube, planned, dryRun === 'server');
  }
  const label = labelOf(VirtualMachinePools, key.name);
  if (dryRun !== 'none') return print(`${label} would take over ${count} VMs${dryRunSuffix(dryRun)}`);
  const { uid, generation } = kubeVirtPool?.metadata ?? {};
  const body = { action: 'takeover', ...(isThere ? { uid: uid!, generation: generation! } : {}) } as const;
  try {
    // The next manifest may change the pool. What holds it stays: no manifest takes that off.
    const but = ['metadata', 'annotations', MEMBERSHIP_CHANGE_ANNOTATION];
    await handOver(kube, VirtualMachinePools, key, { from: MEMBERS_MANAGER, but });
    print(`${label} has taken over ${await requestHandover(session, pool!, body, options)}`);
  } catch (error) {
    if (droverPool === undefined) await deleteUnused(kube, pool!);
    throw error;
  }
};

/** Throws `Failure` for a pool that was not made by a takeover that has not ended. */
function checkBegun(droverPool: Stored<Pool>): void {
  const { name } = droverPool.metadata;
  const change = membershipChangeOf(droverPool);
  if (change === null) throw new Failure(`drover pool ${name} already exists: a pool is taken over under its own name`);
  if (change === 'unreadable' || change.kind !== 'takeover') throw new Failure(unfinished(name, change));
}

/** Creates drover's pool, which begins nothing until the takeover has ended. */
async function create(kube: KubeClient, { pool }: Plan, dryRun: boolean): Promise<Stored<Pool>> {
  const by = await requestedBy(async () => kube);
  const annotations = {
    ...pool.metadata.annotations,
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation(by, revisionOf(poolTemplate(pool.spec))),
    ...changeAnnotation({ kind: 'takeover', by, at: new Date(kube.clock.now()).toISOString() }),
  };
  const object: Pool = { ...pool, metadata: { ...pool.metadata, annotations } };
  const { name } = pool.metadata;
  try {
    // An apply would overwrite a pool that another client has made meanwhile.
    const made = await kube.create<Pool>(VirtualMachinePools, object, { fieldManager: MEMBERS_MANAGER, dryRun });
    if (!dryRun) print(`${labelOf(VirtualMachinePools, name)} created`);
    return made;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new Failure(`drover pool ${name} now exists: check it, and run the command again`, { cause: error });
  }
}

/** Deletes a pool that this command has made if nothing has come of it, and no worker may still be about to begin. */
async function deleteUnused(kube: KubeClient, { metadata }: Stored<Pool>): Promise<void> {
  const { namespace = '', name, uid } = metadata;
  const now = await poolAt(kube, { namespace, name });
  if (now?.metadata.uid !== uid || hasOpenRequest(now)) return;
  if ((await controlledBy(kube, VirtualMachinePools, now)).length > 0) return;
  await ignoreNotFound(kube.delete(VirtualMachinePools, { namespace, name }, { uid, propagationPolicy: 'Orphan' }));
}
