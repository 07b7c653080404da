import { type KubeObject, type OwnerReference, type Stored } from '../../../api/objects.ts';
import { isControlledBy } from '../../../api/ownership.ts';
import { apiVersionOf, ControllerRevisions, KubeVirtPools, type Resource } from '../../../api/resources.ts';
import { isObject } from '../../../decisions/lib/json.ts';
import { isSameTemplate } from '../../../decisions/membership/same-template.ts';
import { hashOf } from '../../../decisions/template/revision.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound, KubeError } from '../../../kubernetes/errors.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import { note } from '../../cli/output.ts';
import type { PoolAt } from '../change.ts';
import { kubeVirtPoolAt, type KubeVirtPool } from './kubevirt-pool.ts';

type Revision = KubeObject & { revision: number; data: Record<string, unknown> };

const isRace = (error: unknown): boolean => isConflict(error) || isAlreadyExists(error) || isNotFound(error);

/** The owner reference of what belongs to a pool of KubeVirt. */
export const referenceTo = (resource: Resource, { metadata: { name, uid } }: Stored<KubeVirtPool>): OwnerReference => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * Makes the revision that KubeVirt would have made with the VMs of its template: without it, KubeVirt rewrites every VM
 * and restarts it. Returns its name, which is that of the template: somebody may change the pool before all VMs are its
 * own, and what was labelled until then is of the former template. A revision that is there is written to, so that a
 * takeover that was frozen right before it deleted that revision can't do so any more.
 */
export async function revisionFor(kube: KubeClient, resource: Resource, theirs: Stored<KubeVirtPool>): Promise<string> {
  const { namespace = '', uid, generation = 1 } = theirs.metadata;
  const key = { namespace, name: `vmpool-${uid}-${hashOf(theirs.spec['virtualMachineTemplate'])}` };
  await retryOnConflict(
    async () => {
      const known = await ignoreNotFound(kube.get<Revision>(ControllerRevisions, key));
      if (known === undefined) {
        const metadata = { ...key, ownerReferences: [referenceTo(resource, theirs)] };
        await kube.create<Revision>(ControllerRevisions, { metadata, revision: generation, data: theirs.spec });
        return;
      }
      const { resourceVersion } = known.metadata;
      await kube.patch(ControllerRevisions, key, 'merge', {
        metadata: { resourceVersion },
        revision: known.revision + 1,
      });
    },
    { isRace },
  );
  return key.name;
}

/** Returns the names of the revisions whose VMs are as the pool's template makes them now. */
export async function currentRevisions(
  kube: KubeClient,
  { metadata: { namespace = '' }, spec }: Stored<KubeVirtPool>,
): Promise<Set<string>> {
  const { items } = await kube.list<Revision>(ControllerRevisions, { namespace });
  const current = items.filter(
    ({ data }) => isObject(data) && isSameTemplate(data['virtualMachineTemplate'], spec['virtualMachineTemplate']),
  );
  return new Set(current.map(({ metadata }) => metadata.name));
}

/**
 * Deletes the revisions of a pool of KubeVirt that has no VMs any more: they would stay when it is deleted without its
 * VMs, and KubeVirt takes a revision for that of a later pool by its name alone. `mayDelete` is asked before each, and
 * throws if none may be deleted.
 */
export async function deleteRevisionsOf(
  kube: KubeClient,
  { metadata: { namespace = '', name, uid } }: Stored<KubeVirtPool>,
  mayDelete: () => Promise<unknown>,
): Promise<void> {
  await deleteEach(kube, { namespace, name }, async (revision) => {
    const isTheirs = isControlledBy(revision, KubeVirtPools, { namespace, uid });
    if (isTheirs) await mayDelete();
    return isTheirs;
  });
}

/**
 * Deletes the revisions that an earlier pool of KubeVirt of this name has left behind, before another is made: KubeVirt
 * names them `<pool>-<generation>`, and would take them for those of the new pool.
 */
export async function deleteLeftRevisions(kube: KubeClient, resource: Resource, pool: PoolAt): Promise<void> {
  const isGone = async ({ apiVersion, kind, name, uid }: OwnerReference): Promise<boolean> => {
    if (kind !== KubeVirtPools.kind || apiVersion.split('/')[0] !== KubeVirtPools.group) return false;
    return (await kubeVirtPoolAt(kube, resource, { ...pool, name }))?.metadata.uid !== uid;
  };
  await deleteEach(kube, pool, async ({ metadata: { name, ownerReferences = [] }, data }) => {
    if (!isNamedAfter(pool.name, name) || !isObject(data) || !isObject(data['virtualMachineTemplate'])) return false;
    for (const owner of ownerReferences) if (!(await isGone(owner))) return false;
    return true;
  });
}

/** Reports whether KubeVirt would give a revision of the pool this name. */
const isNamedAfter = (pool: string, name: string): boolean =>
  name.startsWith(`${pool}-`) && /^\d+$/.test(name.slice(pool.length + 1));

/**
 * Deletes the revisions that `isMeant`, each in the version that was judged. A refusal for want of rights is reported,
 * and holds up nothing.
 */
async function deleteEach(
  kube: KubeClient,
  { namespace, name: pool }: PoolAt,
  isMeant: (revision: Stored<Revision>) => Promise<boolean>,
): Promise<void> {
  const because = `a new pool ${pool} of KubeVirt would take them for its own`;
  try {
    await retryOnConflict(async () => {
      const { items } = await kube.list<Revision>(ControllerRevisions, { namespace });
      for (const revision of items) {
        const { name, uid, resourceVersion } = revision.metadata;
        if (await isMeant(revision))
          await ignoreNotFound(kube.delete(ControllerRevisions, { namespace, name }, { uid, resourceVersion }));
      }
    });
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 403) throw error;
    note(`KubeVirt's ControllerRevisions ${pool}-1, ${pool}-2, … stay, and ${because}: ${error.message}`);
  }
}
