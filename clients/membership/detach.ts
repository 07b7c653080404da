import { POOL_LABEL } from '../../api/names.ts';
import { controllerOf } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { membershipChangeOf, type ChangedVm } from '../../decisions/membership/change.ts';
import { asFormer } from '../../decisions/membership/label-patch.ts';
import { kindOf } from '../../decisions/views/owner-kind.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/vm-from-object.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { dryRunRemark } from '../cli/options.ts';
import { print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import type { DryRun } from '../cli/values.ts';
import { whyExtra } from '../pools/extra.ts';
import type { Session } from '../session/session.ts';
import {
  beginChange,
  endChange,
  poolAt,
  poolToChange,
  unfinished,
  untilCounted,
  type Patience,
  type PoolAt,
} from './change.ts';
import { recordMembers } from './event.ts';
import { move, type Move, type Vm, type VmWithVmi } from './members.ts';

export interface DetachOptions extends Patience {
  /** Has the pool want so many VMs less, so that none is made in their places. */
  decrement?: boolean;
  dryRun: DryRun;
}

/** A pool, and which of its VMs leave. */
interface Leaving {
  pool: PoolAt & { uid: string };
  vms: ChangedVm[];
}

/**
 * Takes VMs out of their pools; they run on untouched. With `decrement`, the pool wants so many less from the same
 * write on that holds it, and goes on when they have left: no other VM goes in their places. Run again after it was
 * killed, it goes on.
 */
export async function detach(
  session: Session,
  namespace: string,
  names: readonly string[],
  options: DetachOptions,
): Promise<void> {
  const { decrement = false, dryRun } = options;
  const kube = await session.kube();
  for (const { pool, vms } of await leavingOf(kube, namespace, names, decrement)) {
    if (decrement) await checkNumber(kube, pool, vms);
    if (dryRun === 'none' && decrement) await detachFewer(session, pool, vms, options);
    else await detachAll(kube, pool, vms, dryRun);
  }
}

async function detachAll(kube: KubeClient, pool: Leaving['pool'], vms: ChangedVm[], dryRun: DryRun): Promise<void> {
  const left: string[] = [];
  for (const vm of vms) {
    if (dryRun === 'none' && !(await leave(kube, pool, vm))) continue;
    print(`${labelOf(Vms.resource, vm.name)} detached from pool ${pool.name}${dryRunRemark(dryRun)}`);
    left.push(vm.name);
  }
  if (dryRun === 'none') await record(kube, pool, left);
}

async function record(kube: KubeClient, pool: Leaving['pool'], vms: readonly string[]): Promise<void> {
  const now = await poolAt(kube, pool);
  const what = { reason: 'SuccessfulDetach', verb: 'Detached', vms } as const;
  if (now?.metadata.uid === pool.uid) await recordMembers(kube, VirtualMachinePools, now, what);
}

/** Refuses what would leave a change half done: the pool can't want less than none. */
async function checkNumber(kube: KubeClient, pool: PoolAt, vms: readonly ChangedVm[]): Promise<void> {
  const { spec } = await poolToChange(kube, pool);
  if (spec.replicas < vms.length)
    throw new Failure(
      `pool ${pool.name} wants ${spec.replicas} VMs, and can't want ${vms.length} less: leave --decrement out`,
    );
}

async function detachFewer(
  session: Session,
  pool: Leaving['pool'],
  vms: ChangedVm[],
  patience: Patience,
): Promise<void> {
  const kube = await session.kube();
  const now = await poolToChange(kube, pool);
  const change = membershipChangeOf(now);
  if (change !== null && (change === 'unreadable' || change.kind !== 'detach')) throw unfinished(now, change);
  const begun = change === null ? [] : change.vms;
  const fresh = vms.filter(({ uid }) => !begun.some((one) => one.uid === uid));
  if (change === null) {
    const replicas = -vms.length;
    await beginChange(kube, pool, { kind: 'detach', vms, replicas }, { replicas });
  }
  const left: string[] = [];
  for (const vm of change === null ? vms : begun) {
    const isOut = (await leave(kube, pool, vm)) || (await hasLeft(kube, pool, vm));
    if (!isOut) continue;
    print(`${labelOf(Vms.resource, vm.name)} detached from pool ${pool.name}`);
    left.push(vm.name);
  }
  await record(kube, pool, left);
  await untilCounted(session, pool, patience);
  await endChange(kube, pool, { replicas: (change === null ? vms : begun).length - left.length });
  if (change !== null && fresh.length > 0) await detachFewer(session, pool, fresh, patience);
}

/** A VM that somebody has deleted meanwhile has left as well. */
async function hasLeft(kube: KubeClient, { namespace, uid }: Leaving['pool'], vm: ChangedVm): Promise<boolean> {
  const { items } = await kube.list(VirtualMachines, { namespace, fieldSelector: `metadata.name=${vm.name}` });
  return !items.some((one) => one.metadata.uid === vm.uid && controllerOf(one)?.uid === uid);
}

const leave = (kube: KubeClient, pool: Leaving['pool'], { name, uid }: ChangedVm): Promise<boolean> =>
  move(kube, { namespace: pool.namespace, name, uid }, (one) => leavingMove(pool, one));

/** What a VM, and its VMI, lose as they leave the pool. */
function leavingMove(pool: Leaving['pool'], { vm, vmi }: VmWithVmi): Move {
  const { labels, annotations } = asFormer(pool.name, vm.metadata);
  const of = asFormer(pool.name, vmi?.metadata ?? {});
  return {
    transfer: { from: pool.uid, to: null, labels, annotations },
    vmi: { labels: of.labels, annotations: of.annotations },
  };
}

/** Returns the VMs by their pools. Throws a `Failure` for each VM that can't be detached, before any is. */
async function leavingOf(
  kube: KubeClient,
  namespace: string,
  names: readonly string[],
  decrement: boolean,
): Promise<Leaving[]> {
  const vms = await Promise.all(
    [...new Set(names)].map((name) => kube.get<VirtualMachine>(VirtualMachines, { namespace, name })),
  );
  const pools = new Map<string, Leaving>();
  const failures: Failure[] = [];
  const pending = await pendingDetach(kube, namespace);
  for (const vm of vms) {
    const owner = controllerOf(vm);
    const { name, uid } = vm.metadata;
    const left = owner === undefined ? pending.get(uid) : undefined;
    const why = left === undefined ? whyNot(vm, decrement) : null;
    const extra = owner === undefined ? undefined : whyExtra(owner.name, vm);
    if (why !== null) failures.push(new Failure(`vm ${name} ${why}`));
    else if (extra !== undefined) failures.push(new Failure(extra));
    else {
      const pool = left ?? { namespace, name: owner!.name, uid: owner!.uid };
      const leaving = pools.get(pool.uid) ?? { pool, vms: [] };
      pools.set(pool.uid, leaving);
      leaving.vms.push({ name, uid });
    }
  }
  throwAll(failures);
  return [...pools.values()];
}

/** VMs of changes that have not ended, by UID: those may have left their pools already. */
async function pendingDetach(kube: KubeClient, namespace: string): Promise<Map<string, Leaving['pool']>> {
  const { items } = await kube.list(VirtualMachinePools, { namespace });
  return new Map(
    items.flatMap((pool) => {
      const change = membershipChangeOf(pool);
      if (change === null || change === 'unreadable' || change.kind !== 'detach') return [];
      const { name, uid } = pool.metadata;
      return change.vms.map((vm) => [vm.uid, { namespace, name, uid }] as const);
    }),
  );
}

function whyNot(vm: Vm, decrement: boolean): string | null {
  const owner = controllerOf(vm);
  if (owner === undefined) {
    const label = vm.metadata.labels?.[POOL_LABEL];
    return label === undefined
      ? 'is no VM of a pool'
      : `is controlled by nobody, and a worker takes off the labels of pool ${label}`;
  }
  if (kindOf(owner) !== 'VirtualMachinePool')
    return `belongs to ${owner.kind} ${owner.name}, which is no pool of drover's`;
  if (vm.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  const { role, removing } = vmView(vm);
  if (role !== null && decrement)
    return `is none of the replicas of pool ${owner.name}, which then has no reason to want one less: leave --decrement out`;
  return removing ? `is just leaving pool ${owner.name}, with its disks kept` : null;
}
