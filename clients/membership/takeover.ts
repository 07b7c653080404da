import { matchesLabels } from '../../api/lib/label-selector.ts';
import { readKubeVirtPool } from '../../api/manifest/kubevirt-pool.ts';
import { formatPath } from '../../api/manifest/problem.ts';
import { REQUESTED_BY_ANNOTATION, PAUSED_POOL_ANNOTATION } from '../../api/names.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import type { LabelSelector } from '../../api/pool/pool.ts';
import { requesterStamp } from '../../api/requested-by.ts';
import { VirtualMachinePools, VirtualMachines, type Resource } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { changeAnnotation, membershipChangeOf } from '../../decisions/membership/change.ts';
import { joining, joiningTransfer, joiningVmi, type Joining } from '../../decisions/membership/joining.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { APPLY_MANAGER } from '../apply/apply.ts';
import { Failure } from '../cli/failure.ts';
import { dryRunRemark } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import type { DryRun } from '../cli/values.ts';
import type { Pool } from '../pool/objects.ts';
import { requestedBy } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { beginChange, poolAt, unfinished, waitUntilCounted, type Patience, type PoolAt } from './change.ts';
import { recordMembers } from './event.ts';
import { kubeVirtPoolAt, kubeVirtPools, pausedPoolOf, pauseKubeVirtPool, type KubeVirtPool } from './kubevirt-pool.ts';
import { MembershipLease } from './lease.ts';
import { controlledBy, move, withVmis } from './members.ts';
import { otherNames, printJoining } from './rows.ts';

export interface TakeoverOptions extends Patience {
  dryRun: DryRun;
}

/** How often VMs are looked for that were not handed over. */
const ROUNDS = 5;

/**
 * Moves the VMs of a pool of KubeVirt to a pool of drover's of the same name, one by one and without touching their VMIs.
 * All that it has done so far is written on the two pools and the VMs: run again after it was killed, it goes on.
 */
export async function takeOver(session: Session, key: PoolAt, options: TakeoverOptions): Promise<void> {
  const kube = await session.kube();
  const resource = await kubeVirtPools(kube);
  const theirs = await kubeVirtPoolAt(kube, resource, key);
  const ours = await poolAt(kube, key);
  const begun = ours === undefined ? null : membershipChangeOf(ours);
  if (ours !== undefined && (begun === null || begun === 'unreadable' || begun.kind !== 'takeover')) {
    if (begun !== null) throw unfinished(ours, begun);
    throw new Failure(`pool ${key.name} of drover's is there already: a pool is taken over under its own name`);
  }
  // It was killed between the last two steps.
  if (ours !== undefined && theirs === undefined) return finish(session, ours, options);
  if (theirs === undefined || theirs.metadata.deletionTimestamp !== undefined) {
    if (ours !== undefined) return finish(session, ours, options);
    throw new Failure(
      theirs === undefined
        ? `no pool ${key.name} of KubeVirt is in ${key.namespace} namespace`
        : `pool ${key.name} of KubeVirt is being deleted`,
    );
  }
  const planned = await plan(kube, theirs, ours);
  if (options.dryRun !== 'none') {
    if (options.dryRun === 'server' && ours === undefined) await create(kube, planned, theirs, { dryRun: true });
    return print(
      `${labelOf(VirtualMachinePools, key.name)} would take over ${planned.vms.length} VMs${dryRunRemark(options.dryRun)}`,
    );
  }
  const by = await requestedBy(async () => kube);
  await pauseKubeVirtPool(kube, resource, key, { by, timeout: options.timeout });
  if (ours === undefined) await create(kube, planned, theirs, { dryRun: false, by });
  // Only `drover apply` owns what it has created: the next manifest would take the annotation off.
  const change = { kind: 'takeover', kubevirtUid: theirs.metadata.uid } as const;
  const pool = await beginChange(kube, key, change, { mayFollow: ({ kind }) => kind === 'takeover' });
  await handOver(kube, pool, theirs);
  await waitUntilCounted(session, key, options);
  await deleteEmptied(kube, resource, theirs);
  await finish(session, pool, options);
}

/** What a takeover is about to do. */
interface Plan {
  pool: KubeObject & Pool;
  vms: { name: string; joining: Joining }[];
}

/** Prints what becomes of each VM. Throws `Failure` for what can't be taken over as it is. */
async function plan(kube: KubeClient, theirs: Stored<KubeVirtPool>, ours: Stored<Pool> | undefined): Promise<Plan> {
  const { namespace = '', name, uid } = theirs.metadata;
  const vms = await controlledBy(kube, namespace, uid);
  const going = vms
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.name);
  if (going.length > 0)
    throw new Failure(`${formatNames(going)} of pool ${name} of KubeVirt: being deleted: ${untilDeleted(theirs)}`);
  const selector = theirs.spec.selector as LabelSelector;
  const strangers = vms
    .filter(({ metadata }) => !matchesLabels(selector, metadata.labels ?? {}))
    .map(({ metadata }) => metadata.name);
  // KubeVirt releases such VMs without checking which owner references it removes.
  if (strangers.length > 0)
    throw new Failure(
      `${formatNames(strangers)} of pool ${name} of KubeVirt: no match of its selector: KubeVirt is just letting go of them`,
    );
  const pool = ours ?? converted(theirs);
  const wanted = pool.spec.replicas;
  const total = vms.length + (ours === undefined ? 0 : (await controlledBy(kube, namespace, ours.metadata.uid)).length);
  if (total > wanted)
    throw new Failure(
      `pool ${name} has ${total} VMs and wants ${wanted}, and drover would remove the others: ` +
        (ours === undefined
          ? "scale KubeVirt's pool first"
          : "scale drover's pool first, or delete those that are too many"),
    );
  const stored = { ...pool, metadata: { ...pool.metadata, uid: '' } } as unknown as StoredPool;
  const compared = (await withVmis(kube, namespace, vms)).map(({ vm, vmi }) => ({
    name: vm.metadata.name,
    joining: joining(stored, vm, vmi),
  }));
  if (compared.length > 0) printJoining(compared);
  const remark = otherNames(name, compared);
  if (remark !== undefined) note(remark);
  if (ours === undefined && vms.length < wanted)
    note(`pool ${name} of KubeVirt has ${vms.length} of ${wanted} VMs: drover makes the others at the end`);
  const isDisturbing = compared.some(({ joining: one }) => one.fate !== 'left');
  if (ours !== undefined || !isDisturbing) return { pool, vms: compared };
  note(
    `not all VMs are as the template makes them: pool ${name} is made with spec.paused, so that nothing restarts; ` +
      `\`kubectl patch dpool ${name} --type merge -p '{"spec":{"paused":false}}'\` has them updated`,
  );
  return { pool: { ...pool, spec: { ...pool.spec, paused: true } }, vms: compared };
}

/** A paused pool of KubeVirt does not take its finalizer off VMs that are being deleted. */
const untilDeleted = (theirs: Stored<KubeVirtPool>): string =>
  pausedPoolOf(theirs) === null
    ? 'wait until that has ended'
    : `\`drover release pool ${theirs.metadata.name}\` has KubeVirt end that`;

/** Returns drover's pool. Throws a `Failure` for each field that drover has no words for. */
function converted(theirs: Stored<KubeVirtPool>): KubeObject & Pool {
  const { metadata, spec, apiVersion } = theirs;
  const { namespace, name, labels, annotations: all = {} } = metadata;
  const { [PAUSED_POOL_ANNOTATION]: _, ...annotations } = all;
  const before = pausedPoolOf(theirs);
  const { autohealing: __, paused: ___, ...rest } = spec;
  const asItWas =
    before === null
      ? spec
      : { ...rest, paused: before.paused, ...(before.autohealing === null ? {} : { autohealing: before.autohealing }) };
  const document = {
    apiVersion: apiVersion ?? 'pool.kubevirt.io/v1beta1',
    kind: 'VirtualMachinePool',
    metadata: { namespace, name, ...(labels && { labels }), annotations },
    spec: asItWas,
  };
  const reading = readKubeVirtPool(document, () => undefined);
  if ('findings' in reading)
    throw new AggregateError(
      reading.findings.map(
        ({ path, message }) => new Failure(`pool ${name} of KubeVirt: ${formatPath(path)}: ${message}`),
      ),
    );
  for (const line of reading.notes) if (!ABOUT_MANIFESTS.test(line)) note(line);
  return reading.object as unknown as KubeObject & Pool;
}

/** Notes of the conversion that say how a manifest would be read. */
const ABOUT_MANIFESTS = / is read as drover\.dev|^metadata|^status/;

/** Creates drover's pool, which begins nothing until the takeover has ended. */
async function create(
  kube: KubeClient,
  { pool }: Plan,
  theirs: Stored<KubeVirtPool>,
  { dryRun, by = '' }: { dryRun: boolean; by?: string },
): Promise<Stored<Pool>> {
  const { namespace = '', name, uid } = theirs.metadata;
  const change = changeAnnotation({ kind: 'takeover', kubevirtUid: uid, by, at: new Date().toISOString() });
  const annotations = {
    ...pool.metadata.annotations,
    ...(by === '' ? {} : { [REQUESTED_BY_ANNOTATION]: requesterStamp(by, revisionOf(poolTemplate(pool.spec))) }),
    ...change,
  };
  const object: KubeObject = { ...pool, metadata: { ...pool.metadata, annotations } };
  const key = { namespace, name };
  const made = await kube.patch<Pool>(VirtualMachinePools, key, 'apply', object, {
    dryRun,
    fieldManager: APPLY_MANAGER,
  });
  if (!dryRun) print(`${labelOf(VirtualMachinePools, name)} created`);
  return made;
}

/** Hands VM by VM over, until the pool of KubeVirt controls none. */
async function handOver(kube: KubeClient, pool: Stored<Pool>, theirs: Stored<KubeVirtPool>): Promise<void> {
  const { namespace = '', name } = pool.metadata;
  const from = theirs.metadata.uid;
  const stored = pool as unknown as StoredPool;
  for (let round = 0; round < ROUNDS; round++) {
    const vms = await controlledBy(kube, namespace, from);
    if (vms.length === 0) return;
    for (const { metadata } of vms) {
      const isMoved = await move(kube, { namespace, name: metadata.name, uid: metadata.uid }, ({ vm, vmi }) => {
        const fit = joining(stored, vm, vmi);
        return { transfer: joiningTransfer(stored, fit, from), vmi: joiningVmi(stored, fit) };
      });
      if (isMoved) print(`${labelOf(VirtualMachines, metadata.name)} taken over`);
    }
  }
  const left = await controlledBy(kube, namespace, from);
  if (left.length === 0) return;
  const names = formatNames(left.map(({ metadata }) => metadata.name));
  throw new Failure(
    `${names} stayed with pool ${name} of KubeVirt, being deleted: \`drover release pool ${name}\` has KubeVirt end that`,
  );
}

/** Deletes the pool of KubeVirt without VMs. Throws `Failure` if somebody has unpaused it: it has made others by then. */
async function deleteEmptied(kube: KubeClient, resource: Resource, theirs: Stored<KubeVirtPool>): Promise<void> {
  const { namespace = '', name, uid } = theirs.metadata;
  const key = { namespace, name };
  const now = await kubeVirtPoolAt(kube, resource, key);
  const made = (await controlledBy(kube, namespace, uid)).map(({ metadata }) => metadata.name);
  if (made.length > 0 || (now?.metadata.uid === uid && now.spec.paused !== true))
    throw new Failure(
      `somebody has unpaused pool ${name} of KubeVirt${made.length === 0 ? '' : `, which has made ${formatNames(made)}`}: run this again`,
    );
  await ignoreStale(kube.delete(resource, key, { uid, propagationPolicy: 'Orphan' }));
}

/** Lets drover's pool go on: it has all VMs. */
async function finish(session: Session, pool: Stored<Pool>, patience: Patience): Promise<void> {
  const kube = await session.kube();
  const { namespace = '', name, uid } = pool.metadata;
  const vms = await controlledBy(kube, namespace, uid);
  // Somebody may have deleted the pool of KubeVirt by hand, and the worker not have seen all VMs.
  await waitUntilCounted(session, { namespace, name }, patience);
  const names = vms.map((vm) => vm.metadata.name);
  await recordMembers(kube, VirtualMachinePools, pool, { reason: 'SuccessfulAdopt', verb: 'Took over', vms: names });
  // The last write: a command that was killed before goes on up to here.
  const change = membershipChangeOf(pool);
  if (change !== null && change !== 'unreadable') await new MembershipLease(kube, { namespace, name }, change).end();
  print(`${labelOf(VirtualMachinePools, name)} has taken over ${vms.length} VMs`);
}
