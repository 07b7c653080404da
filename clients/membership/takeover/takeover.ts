import type { Stored } from '../../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines, KubeVirtPools, type Resource } from '../../../api/resources.ts';
import { formatNames } from '../../../decisions/lib/names.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { joining, joiningTransfer, joiningVmi } from '../../../decisions/membership/joining.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { retryOnConflict } from '../../../kubernetes/retry.ts';
import { Failure } from '../../cli/failure.ts';
import type { Pool } from '../../cli/objects.ts';
import { dryRunRemark } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import { labelOf } from '../../cli/targets.ts';
import type { DryRun } from '../../cli/values.ts';
import { requestedBy } from '../../session/requester.ts';
import type { Session } from '../../session/session.ts';
import { poolAt, unfinished, waitUntilCounted, type Patience, type PoolAt } from '../change.ts';
import { recordTakenOver } from '../event.ts';
import { MembershipLease } from '../lease.ts';
import { controlledBy, move, type Move, type VmWithVmi } from '../members.ts';
import { createHeld, holdPool, rehearse } from './held-pool.ts';
import {
  kubeVirtPoolAt,
  kubeVirtPools,
  pausedPoolOf,
  pauseKubeVirtPool,
  resumeKubeVirtPool,
  type KubeVirtPool,
} from './kubevirt-pool.ts';
import { deleteRevisionsOf } from './kubevirt-revisions.ts';
import { checkRights } from './rights.ts';
import { endedBy, plan, printPlan } from './takeover-plan.ts';

export interface TakeoverOptions extends Patience {
  dryRun: DryRun;
}

/** How often VMs are looked for that were not handed over. */
const ROUNDS = 5;

/**
 * Moves the VMs of a pool of KubeVirt to a pool of drover's of the same name, one by one and without touching their
 * VMIs. All that it has done so far is written on the two pools and the VMs: run again after it was killed, it goes on.
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
  if (options.dryRun !== 'none') return dryRun(kube, theirs, ours, options.dryRun);
  await checkRights(kube, 'takeover', key.namespace);
  const [pool, paused] = await begin(kube, resource, { theirs, ours }, options);
  const hold = new MembershipLease(kube, pool);
  await handOver(kube, pool, paused, hold);
  await waitUntilCounted(session, key, options, () => hold.mustKeep());
  await deleteEmptied(kube, resource, paused, hold);
  await finish(session, pool, options);
}

async function dryRun(
  kube: KubeClient,
  theirs: Stored<KubeVirtPool>,
  ours: Stored<Pool> | undefined,
  how: DryRun,
): Promise<void> {
  const planned = await plan(kube, theirs, ours);
  printPlan(planned);
  if (how === 'server' && ours === undefined) await rehearse(kube, planned, theirs);
  const { name } = theirs.metadata;
  print(`${labelOf(VirtualMachinePools, name)} would take over ${planned.vms.length} VMs${dryRunRemark(how)}`);
}

/**
 * Pauses the pool of KubeVirt, and makes drover's, which is held. What KubeVirt does until it is paused counts: the
 * plan is made once more then. If nothing comes of it, the pool of KubeVirt goes on. Returns both pools.
 */
async function begin(
  kube: KubeClient,
  resource: Resource,
  { theirs, ours }: { theirs: Stored<KubeVirtPool>; ours: Stored<Pool> | undefined },
  { timeout }: Patience,
): Promise<[Stored<Pool>, Stored<KubeVirtPool>]> {
  const { namespace = '', name } = theirs.metadata;
  const key = { namespace, name };
  const by = await requestedBy(async () => kube);
  const pausing = { by, at: new Date().toISOString() };
  const wasPaused = pausedPoolOf(theirs) !== null;
  await plan(kube, theirs, ours);
  try {
    const paused = await pauseKubeVirtPool(kube, resource, theirs, { ...pausing, timeout });
    const planned = await plan(kube, paused, ours, wasPaused);
    printPlan(planned);
    const pool = ours ?? (await createHeld(kube, resource, planned, { theirs: paused, by }));
    return [await holdPool(kube, pool, paused), paused];
  } catch (error) {
    if (!wasPaused && (await poolAt(kube, key)) === undefined)
      await ignoreNotFound(resumeKubeVirtPool(kube, resource, key, pausing));
    throw error;
  }
}

/** Hands VM by VM over, until the pool of KubeVirt controls none. */
async function handOver(
  kube: KubeClient,
  pool: Stored<Pool>,
  theirs: Stored<KubeVirtPool>,
  hold: MembershipLease,
): Promise<void> {
  const { namespace = '', name } = pool.metadata;
  const from = theirs.metadata.uid;
  const stored = pool as unknown as StoredPool;
  for (let round = 0; round < ROUNDS; round++) {
    const vms = await controlledBy(kube, KubeVirtPools, theirs);
    if (vms.length === 0) return;
    for (const { metadata } of vms) {
      const moveOf = ({ vm, vmi }: VmWithVmi): Move => {
        const fit = joining(stored, vm, vmi);
        return { transfer: joiningTransfer(stored, fit, from, kube.clock.now()), vmi: joiningVmi(stored, fit) };
      };
      const one = { namespace, name: metadata.name, uid: metadata.uid };
      if (await move(kube, one, moveOf, () => hold.mustKeep()))
        print(`${labelOf(VirtualMachines, metadata.name)} taken over`);
    }
  }
  const left = await controlledBy(kube, KubeVirtPools, theirs);
  if (left.length === 0) return;
  const names = formatNames(left.map(({ metadata }) => metadata.name));
  throw new Failure(`${names} stayed with pool ${name} of KubeVirt, being deleted: ${endedBy(name)}`);
}

/**
 * Deletes the pool of KubeVirt without VMs. Throws `Failure` if somebody has unpaused it: it has made others by then.
 */
async function deleteEmptied(
  kube: KubeClient,
  resource: Resource,
  theirs: Stored<KubeVirtPool>,
  hold: MembershipLease,
): Promise<void> {
  const { namespace = '', name, uid } = theirs.metadata;
  const key = { namespace, name };
  await retryOnConflict(async () => {
    const now = await kubeVirtPoolAt(kube, resource, key);
    const made = (await controlledBy(kube, KubeVirtPools, theirs)).map(({ metadata }) => metadata.name);
    const isTheirs = now?.metadata.uid === uid;
    if (made.length > 0 || (isTheirs && now.spec.paused !== true))
      throw new Failure(
        `somebody has unpaused pool ${name} of KubeVirt${made.length === 0 ? '' : `, which has made ${formatNames(made)}`}: run this again`,
      );
    if (isTheirs) await deleteRevisionsOf(kube, now, () => hold.mustKeep());
    await hold.mustKeep();
    if (!isTheirs) return;
    const { resourceVersion } = now.metadata;
    await ignoreNotFound(kube.delete(resource, key, { uid, resourceVersion, propagationPolicy: 'Orphan' }));
  });
}

/** Lets drover's pool go on: it has all VMs. */
async function finish(session: Session, pool: Stored<Pool>, patience: Patience): Promise<void> {
  const kube = await session.kube();
  const hold = new MembershipLease(kube, pool);
  const { namespace = '', name } = pool.metadata;
  const key = { namespace, name };
  const vms = await controlledBy(kube, VirtualMachinePools, pool);
  // Somebody may have deleted the pool of KubeVirt by hand, and the worker not have seen all VMs.
  await waitUntilCounted(session, key, patience, () => hold.mustKeep());
  const names = vms.map((vm) => vm.metadata.name);
  await recordTakenOver(session, pool, names);
  // The last write: a command that was killed before goes on up to here.
  await hold.end();
  print(`${labelOf(VirtualMachinePools, name)} has taken over ${vms.length} VMs`);
}
