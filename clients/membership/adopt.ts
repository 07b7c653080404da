import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { membershipChangeOf, type ChangedVm } from '../../decisions/membership/change.ts';
import { joining, joiningTransfer, joiningVmi, type Joining } from '../../decisions/membership/joining.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VirtualMachine } from '../../decisions/views/vm-from-object.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { dryRunRemark } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import type { DryRun } from '../cli/values.ts';
import type { Pool } from '../pools/objects.ts';
import type { Session } from '../session/session.ts';
import {
  beginChange,
  endChange,
  poolToChange,
  unfinished,
  untilCounted,
  type Patience,
  type PoolAt,
} from './change.ts';
import { recordMembers } from './event.ts';
import { move, withVmis, type Vm, type VmWithVmi } from './members.ts';
import { otherNames, printJoining } from './rows.ts';

/** Its annotation must hold them all. */
const MOST = 500;

export interface AdoptOptions extends Patience {
  /** Leaves the number of VMs that the pool wants as it is. */
  keepReplicas?: boolean;
  dryRun: DryRun;
}

/** Which VMs are to come into the pool: by their names, or all of no owner that a selector matches. */
export type Chosen = { names: readonly string[] } | { selector: string };

/**
 * Makes VMs of no owner the pool's. The pool wants so many more from the same write on that holds it, and goes on when
 * they are its own: meanwhile it neither makes nor deletes a VM. Run again after it was killed, it goes on.
 */
export async function adopt(session: Session, key: PoolAt, chosen: Chosen, options: AdoptOptions): Promise<void> {
  const { keepReplicas = false, dryRun } = options;
  const kube = await session.kube();
  const pool = await poolToChange(kube, key);
  const change = membershipChangeOf(pool);
  if (change !== null) {
    if (change === 'unreadable' || change.kind !== 'adopt') throw unfinished(pool, change);
    if (dryRun !== 'none') throw unfinished(pool, change);
    note(`pool ${key.name}: an adoption that ${change.by} began at ${change.at} is finished first`);
    await finish(session, key, change.vms, change.replicas > 0, options);
    return adopt(session, key, chosen, options);
  }
  const vms = await vmsToAdopt(kube, pool, chosen);
  if (vms.length === 0) return note(`No VM to adopt in ${key.namespace} namespace.`);
  const compared = (await withVmis(kube, key.namespace, vms)).map((one) => ({
    name: one.vm.metadata.name,
    joining: joiningOf(pool, one),
  }));
  printJoining(compared);
  const remark = otherNames(key.name, compared);
  if (remark !== undefined) note(remark);
  if (keepReplicas) note(`pool ${key.name} goes on wanting ${pool.spec.replicas} VMs: what is too many leaves`);
  if (dryRun !== 'none') return print(`${vms.length} VMs would be adopted${dryRunRemark(dryRun)}`);
  const changed = vms.map(({ metadata: { name, uid } }) => ({ name, uid }));
  const replicas = keepReplicas ? 0 : vms.length;
  await beginChange(kube, key, { kind: 'adopt', vms: changed, replicas }, { replicas });
  await finish(session, key, changed, !keepReplicas, options);
}

const joiningOf = (pool: Stored<Pool>, { vm, vmi }: VmWithVmi): Joining =>
  joining(pool as unknown as StoredPool, vm, vmi);

/** Makes these VMs the pool's, and lets the pool go on. What can't be adopted any more is not wanted, either. */
async function finish(
  session: Session,
  key: PoolAt,
  vms: readonly ChangedVm[],
  wantsMore: boolean,
  patience: Patience,
): Promise<void> {
  const kube = await session.kube();
  const pool = await poolToChange(kube, key);
  const failures: unknown[] = [];
  const adopted: string[] = [];
  for (const { name, uid } of vms) {
    const isMember = await adoptOne(kube, pool, { ...key, name, uid }).catch((error: unknown) => {
      if (!(error instanceof KubeError)) throw error;
      failures.push(new Failure(`vm ${name} was not adopted: ${error.message}`, { cause: error }));
      return false;
    });
    if (!isMember) continue;
    print(`${labelOf(Vms.resource, name)} adopted`);
    adopted.push(name);
  }
  const missed = vms.length - adopted.length;
  const what = { reason: 'SuccessfulAdopt', verb: 'Adopted', vms: adopted } as const;
  await recordMembers(kube, VirtualMachinePools, pool, what);
  if (missed > failures.length)
    note(`${missed - failures.length} VMs were deleted, or came to belong to others, meanwhile`);
  await untilCounted(session, key, patience);
  await endChange(kube, key, wantsMore ? { replicas: -missed } : {});
  throwAll(failures);
}

/** Returns whether the VM is the pool's. */
async function adoptOne(
  kube: KubeClient,
  pool: Stored<Pool>,
  vm: { namespace: string; name: string; uid: string },
): Promise<boolean> {
  const stored = pool as unknown as StoredPool;
  const isMoved = await move(kube, vm, (one) => {
    const fit = joining(stored, one.vm, one.vmi);
    return { transfer: joiningTransfer(stored, fit, null), vmi: joiningVmi(stored, fit) };
  });
  if (isMoved) return true;
  const now = await ignoreNotFound(kube.get(VirtualMachines, { namespace: vm.namespace, name: vm.name }));
  return now !== undefined && now.metadata.uid === vm.uid && controllerOf(now)?.uid === pool.metadata.uid;
}

async function vmsToAdopt(kube: KubeClient, pool: Stored<Pool>, chosen: Chosen): Promise<Vm[]> {
  const { namespace, name, uid } = pool.metadata;
  if ('selector' in chosen) {
    const { items } = await kube.list<VirtualMachine>(VirtualMachines, { namespace, labelSelector: chosen.selector });
    const free = items.filter((vm) => controllerOf(vm) === undefined && vm.metadata.deletionTimestamp === undefined);
    return few(free);
  }
  const vms = await Promise.all(
    [...new Set(chosen.names)].map((vm) => kube.get<VirtualMachine>(VirtualMachines, { namespace, name: vm })),
  );
  const failures = vms.flatMap((vm) => {
    const owner = controllerOf(vm);
    const { name: of, deletionTimestamp } = vm.metadata;
    if (owner?.uid === uid) note(`vm ${of} is pool ${name}'s already`);
    else if (owner !== undefined) return [new Failure(`vm ${of} belongs to ${owner.kind} ${owner.name}`)];
    return deletionTimestamp === undefined ? [] : [new Failure(`vm ${of} is being deleted`)];
  });
  throwAll(failures);
  return few(vms.filter((vm) => controllerOf(vm) === undefined));
}

function few(vms: Vm[]): Vm[] {
  if (vms.length <= MOST) return vms;
  throw new Failure(`${vms.length} VMs are too many for one adoption: at most ${MOST} at a time`);
}
