import { matchesLabels } from '../../../api/lib/label-selector.ts';
import { toKubeVirtPool } from '../../../api/manifest/to-kubevirt-pool.ts';
import {
  DETACHED_ANNOTATION,
  KUBEVIRT_POOL_FINALIZER,
  KUBEVIRT_REVISION_LABEL,
  PAUSED_POOL_ANNOTATION,
  POOL_LABEL,
} from '../../../api/names.ts';
import { type Stored } from '../../../api/objects.ts';
import { isControlledBy } from '../../../api/ownership.ts';
import type { LabelSelector } from '../../../api/pool/pool.ts';
import {
  apiVersionOf,
  ControllerRevisions,
  KubeVirtPools,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { formerMemberAnnotation } from '../../../decisions/annotations/former-member.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import { asFormer } from '../../../decisions/membership/label-patch.ts';
import { isSameTemplate } from '../../../decisions/membership/same-template.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { vmView } from '../../../decisions/views/from-object/vm.ts';
import { vmiView } from '../../../decisions/views/from-object/vmi.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreStale } from '../../../kubernetes/errors.ts';
import { Failure } from '../../cli/failure.ts';
import { Pools } from '../../cli/kinds.ts';
import type { Pool } from '../../cli/objects.ts';
import { dryRunRemark } from '../../cli/options.ts';
import { note, print } from '../../cli/output.ts';
import { labelOf } from '../../cli/targets.ts';
import type { DryRun } from '../../cli/values.ts';
import { waitForDeletion } from '../../owners/wait-for-deletion.ts';
import { requestedBy } from '../../session/requester.ts';
import type { Session } from '../../session/session.ts';
import { beginChange, poolAt, waitUntilCounted, waitUntilHeld, type Patience, type PoolAt } from '../change.ts';
import { recordEventOfMembers } from '../event.ts';
import { MembershipLease } from '../lease.ts';
import { controlledBy, move, withVmis, type Move, type VmWithVmi } from '../members.ts';
import {
  kubeVirtPools,
  notePaused,
  pausedPoolOf,
  resumeKubeVirtPool,
  stayingKubeVirtPool,
  type KubeVirtPool,
  type PausedPool,
} from './kubevirt-pool.ts';
import { currentRevisions, deleteLeftRevisions, referenceTo, revisionFor } from './kubevirt-revisions.ts';
import { checkPool } from './release-check.ts';
import { checkRights } from './rights.ts';

export interface ReleaseOptions extends Patience {
  dryRun: DryRun;
}

const now = (): string => new Date().toISOString();

/** How often VMs are looked for that were not handed over. */
const ROUNDS = 5;

/**
 * Moves the VMs of a pool to a pool of KubeVirt of the same name, as `takeOver` does the other way; it also takes back
 * a takeover that has not ended.
 */
export async function release(session: Session, key: PoolAt, options: ReleaseOptions): Promise<void> {
  const kube = await session.kube();
  const resource = await kubeVirtPools(kube);
  const [ours, theirs] = [await poolAt(kube, key), await stayingKubeVirtPool(kube, resource, key, options)];
  if (ours === undefined || ours.metadata.deletionTimestamp !== undefined) {
    if (theirs !== undefined && pausedPoolOf(theirs) !== null)
      return leaveToKubeVirt(session, { key, resource, ours, theirs }, options);
    throw new Failure(`no pool ${key.name} of drover's is in ${key.namespace} namespace`);
  }
  const vms = await withVmis(kube, key.namespace, await controlledBy(kube, VirtualMachinePools, ours));
  checkPool(ours, theirs, vms);
  if (options.dryRun !== 'none') {
    if (theirs === undefined) await create(kube, resource, ours, { dryRun: options.dryRun });
    return print(
      `${labelOf(KubeVirtPools, key.name)} would get ${vms.length} VMs of pool ${key.name}${dryRunRemark(options.dryRun)}`,
    );
  }
  await checkRights(kube, 'release', key.namespace);
  const held = await beginChange(
    kube,
    key,
    ({ metadata: { uid } }) => {
      if (uid !== ours.metadata.uid) throw new Failure(`pool ${key.name} was recreated meanwhile: run this again`);
      return { kind: 'release', kubevirtUid: theirs?.metadata.uid ?? null };
    },
    ({ kind }) => kind === 'takeover' || kind === 'release',
  );
  await waitUntilHeld(session, key, 'release', options);
  if (theirs !== undefined) await touchEach(kube, theirs);
  const heir =
    theirs === undefined
      ? await create(kube, resource, held, { dryRun: 'none' })
      : await notePaused(kube, resource, theirs, { by: await requestedBy(async () => kube), at: now() });
  const hold = new MembershipLease(kube, held);
  await handBack(kube, held, heir, { revision: await revisionFor(kube, resource, heir), hold });
  await waitUntilCounted(session, key, options, () => hold.mustKeep());
  await leaveToKubeVirt(session, { key, resource, ours: held, theirs: heir }, options);
}

/**
 * Writes to each VM that a takeover has not moved. A takeover that was frozen right before such a move would go on with
 * it at any time later, and give the VM to a pool that is gone: its write is refused once the VM has changed.
 */
async function touchEach(kube: KubeClient, theirs: Stored<KubeVirtPool>): Promise<void> {
  const { namespace = '', name } = theirs.metadata;
  for (const { metadata } of await controlledBy(kube, KubeVirtPools, theirs))
    for (const value of [formerMemberAnnotation({ pool: name, revision: null })[DETACHED_ANNOTATION], null]) {
      const patch = { metadata: { uid: metadata.uid, annotations: { [DETACHED_ANNOTATION]: value } } };
      await ignoreStale(kube.patch(VirtualMachines, { namespace, name: metadata.name }, 'merge', patch));
    }
}

/** Creates the pool of KubeVirt, which is paused until it has all VMs. */
async function create(
  kube: KubeClient,
  resource: Resource,
  ours: Stored<Pool>,
  { dryRun }: { dryRun: DryRun },
): Promise<Stored<KubeVirtPool>> {
  const { namespace, name, labels } = ours.metadata;
  const { spec, notes } = toKubeVirtPool(name, ours.spec);
  for (const line of notes) note(line);
  const { paused = false, autohealing, ...rest } = spec;
  const by = await requestedBy(async () => kube);
  const before: PausedPool = { paused, autohealing: autohealing ?? null, by, at: now() };
  const object = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      namespace: namespace!,
      name,
      ...(labels && { labels }),
      annotations: { [PAUSED_POOL_ANNOTATION]: JSON.stringify(before) },
    },
    spec: { ...rest, paused: true },
  } as unknown as KubeVirtPool;
  if (dryRun === 'client') return object as Stored<KubeVirtPool>;
  if (dryRun === 'none') await deleteLeftRevisions(kube, resource, { namespace: namespace!, name });
  const made = await kube.create<KubeVirtPool>(resource, object, { dryRun: dryRun === 'server' });
  if (dryRun === 'none') print(`${labelOf(KubeVirtPools, name)} created, paused`);
  return made;
}

/** Hands VM by VM over, until drover's pool controls none. */
async function handBack(
  kube: KubeClient,
  ours: Stored<Pool>,
  theirs: Stored<KubeVirtPool>,
  { revision, hold }: { revision: string; hold: MembershipLease },
): Promise<void> {
  const { namespace = '', name } = ours.metadata;
  const { virtualMachineTemplate } = toKubeVirtPool(name, ours.spec).spec;
  // Somebody may have changed one of the two templates since the takeover.
  const isTheirs = isSameTemplate(virtualMachineTemplate, theirs.spec['virtualMachineTemplate']);
  const newest = isTheirs ? revisionOf(poolTemplate(ours.spec)) : null;
  for (let round = 0; round < ROUNDS; round++) {
    const vms = await controlledBy(kube, VirtualMachinePools, ours);
    if (vms.length === 0) return;
    for (const { metadata } of vms) {
      const key = { namespace, name: metadata.name, uid: metadata.uid };
      const moveOf = (one: VmWithVmi): Move => handingBack(ours, theirs, { newest, revision }, one);
      if (await move(kube, key, moveOf, () => hold.mustKeep()))
        print(`${labelOf(VirtualMachines, metadata.name)} released`);
    }
  }
  const left = await controlledBy(kube, VirtualMachinePools, ours);
  if (left.length === 0) return;
  const names = formatNames(left.map(({ metadata }) => metadata.name));
  throw new Failure(`${names} stayed with pool ${name}: run this again once they are not being deleted`);
}

/** `newest`: what drover calls the revision of KubeVirt's template; null if it knows that template by none. */
interface Revisions {
  newest: string | null;
  revision: string;
}

/**
 * What a VM gets, and its VMI. KubeVirt lets go of VMs that don't match the selector of their pool, and breaks on it.
 */
function handingBack(
  ours: Stored<Pool>,
  theirs: Stored<KubeVirtPool>,
  { newest, revision }: Revisions,
  { vm, vmi }: VmWithVmi,
): Move {
  const selector = theirs.spec.selector as LabelSelector;
  const { name, uid } = ours.metadata;
  const isNewest = newest !== null && vmView(vm).revision === newest;
  const runsNewest = isNewest && vmi !== undefined && vmiView(vmi).revision === newest;
  const { labels, annotations } = asFormer(name, vm.metadata);
  const wanted = { ...labels, ...selector.matchLabels, [KUBEVIRT_REVISION_LABEL]: isNewest ? revision : null };
  if (!matchesLabels(selector, { ...vm.metadata.labels, ...selector.matchLabels }))
    throw new Failure(
      `vm ${vm.metadata.name} does not match the selector of pool ${name} of KubeVirt: label it so that it does`,
    );
  const of = asFormer(name, vmi?.metadata ?? {});
  return {
    transfer: {
      from: uid,
      to: referenceTo(KubeVirtPools, theirs),
      labels: wanted,
      annotations: { ...annotations, [DETACHED_ANNOTATION]: null },
      finalizers: { add: KUBEVIRT_POOL_FINALIZER },
    },
    vmi: {
      labels: { ...of.labels, [KUBEVIRT_REVISION_LABEL]: runsNewest ? revision : null },
      annotations: of.annotations,
    },
  };
}

interface Ending {
  key: PoolAt;
  resource: Resource;
  ours: Stored<Pool> | undefined;
  theirs: Stored<KubeVirtPool>;
}

/** Deletes drover's pool, which has no VMs any more, and lets that of KubeVirt go on if that changes no VM. */
async function leaveToKubeVirt(
  session: Session,
  { key, resource, ours, theirs }: Ending,
  { dryRun, timeout }: ReleaseOptions,
): Promise<void> {
  const kube = await session.kube();
  const { namespace, name } = key;
  if (dryRun !== 'none') return print(`${labelOf(KubeVirtPools, name)} would go on as it was${dryRunRemark(dryRun)}`);
  if (ours !== undefined) {
    const { uid } = ours.metadata;
    const kept = await kube.list(ControllerRevisions, { namespace, labelSelector: `${POOL_LABEL}=${name}` });
    await ignoreStale(kube.delete(VirtualMachinePools, key, { uid, propagationPolicy: 'Orphan' }));
    await waitForDeletion(kube, [{ kind: Pools, namespace, name, uid }], timeout);
    for (const revision of kept.items.filter((one) => isControlledBy(one, VirtualMachinePools, { namespace, uid })))
      await ignoreStale(
        kube.delete(ControllerRevisions, { namespace, name: revision.metadata.name }, { uid: revision.metadata.uid }),
      );
  }
  const vms = await withVmis(kube, namespace, await controlledBy(kube, KubeVirtPools, theirs));
  const all = vms.map(({ vm }) => vm.metadata.name);
  await recordEventOfMembers(kube, resource, theirs, {
    reason: 'SuccessfulRelease',
    verb: 'Released by drover:',
    vms: all,
  });
  // The last write: a command that was killed before goes on up to here.
  let others: VmWithVmi[] = [];
  const staysPaused = async (pool: Stored<KubeVirtPool>): Promise<boolean> => {
    others = await restartedBy(kube, pool, vms);
    return others.length > 0;
  };
  if (!(await resumeKubeVirtPool(kube, resource, key, pausedPoolOf(theirs)!, staysPaused)))
    return note(`another command has gone on with pool ${name} of KubeVirt`);
  print(`${labelOf(KubeVirtPools, name)} has ${vms.length} VMs`);
  if (others.length === 0) return;
  const names = formatNames(others.map(({ vm }) => vm.metadata.name));
  note(
    `${names} are not as the template makes them, and KubeVirt would restart them: its pool stays paused; ` +
      `\`kubectl patch vmpool ${name} --type merge -p '{"spec":{"paused":false}}'\` lets it go on`,
  );
}

/** Returns the VMs that KubeVirt would rewrite, or restart. */
async function restartedBy(
  kube: KubeClient,
  pool: Stored<KubeVirtPool>,
  vms: readonly VmWithVmi[],
): Promise<VmWithVmi[]> {
  const current = await currentRevisions(kube, pool);
  return vms.filter(({ vm, vmi }) => {
    const of = vm.metadata.labels?.[KUBEVIRT_REVISION_LABEL];
    if (of === undefined || !current.has(of)) return true;
    return vmi !== undefined && vmi.metadata.labels?.[KUBEVIRT_REVISION_LABEL] !== of;
  });
}
