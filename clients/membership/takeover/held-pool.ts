import { MEMBERS_MANAGER, REQUESTED_BY_ANNOTATION } from '../../../api/names.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { requesterStamp } from '../../../api/requested-by.ts';
import { VirtualMachinePools, type Resource } from '../../../api/resources.ts';
import {
  changeAnnotation,
  isSameChange,
  membershipChangeOf,
  type MembershipChange,
} from '../../../decisions/membership/change.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isAlreadyExists } from '../../../kubernetes/errors.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import { Failure } from '../../cli/failure.ts';
import type { Pool } from '../../cli/objects.ts';
import { print } from '../../cli/output.ts';
import { labelOf } from '../../cli/targets.ts';
import { beginChange, poolAt, serverTime, TRIES } from '../change.ts';
import { kubeVirtPoolAt, pausedPoolOf, type KubeVirtPool } from './kubevirt-pool.ts';
import type { Plan } from './takeover-plan.ts';

/** A pool of KubeVirt, and who takes it over. */
interface From {
  theirs: Stored<KubeVirtPool>;
  by: string;
}

/** Asks the API server whether it would accept drover's pool. */
export const rehearse = async (kube: KubeClient, plan: Plan, theirs: Stored<KubeVirtPool>): Promise<void> => {
  await kube.create(VirtualMachinePools, heldPool(plan, { theirs, by: '' }, serverTime(kube)), { dryRun: true });
};

/**
 * Creates drover's pool, which begins nothing until the takeover has ended. A command that was frozen before changes no
 * pool that is there by now, and leaves none behind if the takeover was ended by another meanwhile. Throws `Failure`
 * then.
 */
export async function createHeld(kube: KubeClient, resource: Resource, plan: Plan, from: From): Promise<Stored<Pool>> {
  const { namespace = '', name, uid } = from.theirs.metadata;
  const made = await created(kube, heldPool(plan, from, serverTime(kube)));
  const theirs = await kubeVirtPoolAt(kube, resource, { namespace, name });
  if (theirs?.metadata.uid !== uid || pausedPoolOf(theirs) === null) {
    await deleteUnused(kube, made);
    throw new Failure(`pool ${name} of KubeVirt: another command has ended this takeover`);
  }
  print(`${labelOf(VirtualMachinePools, name)} created`);
  return made;
}

function heldPool({ pool }: Plan, { theirs, by }: From, at: string): KubeObject & Pool {
  const change = { kind: 'takeover', kubevirtUid: theirs.metadata.uid, by, at } as const;
  const annotations = {
    ...pool.metadata.annotations,
    ...(by === '' ? {} : { [REQUESTED_BY_ANNOTATION]: requesterStamp(by, revisionOf(poolTemplate(pool.spec))) }),
    ...changeAnnotation(change),
  };
  return { ...pool, metadata: { ...pool.metadata, annotations } };
}

/** An apply would overwrite a pool that somebody else has made meanwhile. */
async function created(kube: KubeClient, pool: KubeObject & Pool): Promise<Stored<Pool>> {
  try {
    return await kube.create<KubeObject & Pool>(VirtualMachinePools, pool, { fieldManager: MEMBERS_MANAGER });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { name } = pool.metadata;
    throw new Failure(`pool ${name} of drover's is there by now: look at it, and run this again`, { cause: error });
  }
}

/** Deletes a pool that this command has made, unless another one goes on with it: that has written so on the pool. */
const deleteUnused = (kube: KubeClient, made: Stored<Pool>): Promise<void> =>
  retryOnConflict(
    async () => {
      const { namespace = '', name, uid } = made.metadata;
      const key = { namespace, name };
      const now = await poolAt(kube, key);
      if (now?.metadata.uid !== uid || !isSameChange(changeOf(made), membershipChangeOf(now))) return;
      const { resourceVersion } = now.metadata;
      await kube.delete(VirtualMachinePools, key, { uid, resourceVersion, propagationPolicy: 'Orphan' });
    },
    { tries: TRIES },
  );

/**
 * Holds drover's pool for this command, also one that an earlier takeover has made. Throws `Failure` if another command
 * has ended that.
 */
export function holdPool(kube: KubeClient, pool: Stored<Pool>, theirs: Stored<KubeVirtPool>): Promise<Stored<Pool>> {
  const { namespace = '', name, uid } = pool.metadata;
  const kubevirtUid = theirs.metadata.uid;
  return beginChange(
    kube,
    { namespace, name },
    (now) => {
      if (now.metadata.uid !== uid || membershipChangeOf(now) === null)
        throw new Failure(`pool ${name}: another command has ended this takeover`);
      return { kind: 'takeover', kubevirtUid };
    },
    (other) => other.kind === 'takeover' && (other.kubevirtUid === kubevirtUid || isSameChange(changeOf(pool), other)),
  );
}

const changeOf = (pool: Stored<Pool>): MembershipChange => membershipChangeOf(pool) as MembershipChange;
