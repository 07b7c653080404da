import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject, OwnerReference, Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { ControllerRevisions, KubeVirtPools, VirtualMachinePools } from '../../api/resources.ts';
import { isObject } from '../../decisions/lib/json.ts';
import { referenceTo, type KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import { isSameTemplate } from '../../decisions/membership/same-template.ts';
import { hashOf } from '../../decisions/template/revision.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kubernetes/errors.ts';
import type { MembersRun } from './members-run.ts';

type StoredKubeVirtPool = Stored<KubeVirtPool>;
type Revision = KubeObject & { revision: number; data: Record<string, unknown> };

/**
 * Makes the revision that KubeVirt would have made with the VMs of its template: without it, KubeVirt rewrites every VM
 * and restarts it. Returns its name, which is that of the template: a user may change the pool before all VMs are its
 * own, and what was labelled until then is of the former template.
 */
export async function revisionFor({ client }: MembersRun, kubeVirtPool: StoredKubeVirtPool): Promise<string> {
  const { namespace = '', uid, generation = 1 } = kubeVirtPool.metadata;
  const name = `vmpool-${uid}-${hashOf(kubeVirtPool.spec['virtualMachineTemplate'])}`;
  const metadata = { namespace, name, ownerReferences: [referenceTo(kubeVirtPool)] };
  const made = { metadata, revision: generation, data: kubeVirtPool.spec };
  try {
    await client.create<Revision>(ControllerRevisions, made);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  return name;
}

/** Returns the names of the revisions whose VMs are as the pool's template makes them now. */
export async function currentRevisions(run: MembersRun, { spec }: StoredKubeVirtPool): Promise<Set<string>> {
  const current = (await revisionsIn(run)).filter(
    ({ data }) => isObject(data) && isSameTemplate(data['virtualMachineTemplate'], spec['virtualMachineTemplate']),
  );
  return new Set(current.map(({ metadata }) => metadata.name));
}

/**
 * Deletes the revisions of a KubeVirt pool that no longer has VMs: they would stay when it is deleted without its
 * VMs, and KubeVirt takes a revision for that of a later pool by its name alone.
 */
export async function deleteRevisionsOf(run: MembersRun, { metadata: { uid } }: StoredKubeVirtPool): Promise<void> {
  const { namespace } = run.key;
  await deleteEach(run, (revision) => isControlledBy(revision, KubeVirtPools, { namespace, uid }));
}

/** Deletes the revisions of drover's pool, which is to be deleted without what it owns. */
export async function deleteOwnRevisions(run: MembersRun): Promise<void> {
  const { name } = run.key;
  await deleteEach(
    run,
    (revision) =>
      revision.metadata.labels?.[POOL_LABEL] === name && isControlledBy(revision, VirtualMachinePools, run.key),
  );
}

/**
 * Deletes the revisions that an earlier pool of KubeVirt of this name has left behind, before another is made: KubeVirt
 * names them `<pool>-<generation>`, and would take them for those of the new pool. `uidOf`: UID of the KubeVirt pool
 * that has this name now.
 */
export async function deleteUnusedRevisions(
  run: MembersRun,
  uidOf: (pool: string) => Promise<string | undefined>,
): Promise<void> {
  const isGone = async ({ apiVersion, kind, name, uid }: OwnerReference): Promise<boolean> =>
    kind === KubeVirtPools.kind && apiVersion.split('/')[0] === KubeVirtPools.group && (await uidOf(name)) !== uid;
  await deleteEach(run, async ({ metadata: { name, ownerReferences = [] }, data }) => {
    if (!isNamedAfter(run.key.name, name) || !isObject(data) || !isObject(data['virtualMachineTemplate'])) return false;
    for (const owner of ownerReferences) if (!(await isGone(owner))) return false;
    return true;
  });
}

/** Reports whether KubeVirt would give a revision of the pool this name. */
const isNamedAfter = (pool: string, name: string): boolean =>
  name.startsWith(`${pool}-`) && /^\d+$/.test(name.slice(pool.length + 1));

const revisionsIn = async ({ client, key: { namespace } }: MembersRun): Promise<Stored<Revision>[]> =>
  (await client.list<Revision>(ControllerRevisions, { namespace })).items;

/** Deletes the revisions that `isMeant`, each in the version that was judged. */
async function deleteEach(
  run: MembersRun,
  isMeant: (revision: Stored<Revision>) => boolean | Promise<boolean>,
): Promise<void> {
  const { client, key } = run;
  for (const revision of await revisionsIn(run)) {
    const { name, uid, resourceVersion } = revision.metadata;
    if (!(await isMeant(revision))) continue;
    const at = { namespace: key.namespace, name };
    await ignoreNotFound(client.delete(ControllerRevisions, at, { uid, resourceVersion }));
  }
}
