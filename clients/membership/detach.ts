import { POOL_LABEL } from '../../api/names.ts';
import { controllerOf } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { membershipChangeOf, type ChangedVm } from '../../decisions/membership/change.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { vmiView } from '../../decisions/views/from-object/vmi.ts';
import { kindOf } from '../../decisions/views/owner-kind.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { dryRunRemark } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import type { DryRun } from '../cli/values.ts';
import { whyExtra } from '../pool/extra.ts';
import type { Session } from '../session/session.ts';
import { poolAt, poolToChange, type Patience, type PoolAt } from './change.ts';
import { DETACHED, recordMembers } from './event.ts';
import { changeMembers, checkCount, checkNumber, finishPending, leavingMove, wordsOf } from './listed.ts';
import { move, type Move, type Vm, type VmWithVmi } from './members.ts';

export interface DetachOptions extends Patience {
  /** Has the pool want so many VMs less, so that none is made in their places. */
  decrement?: boolean;
  /** For `drover history`. */
  reason?: string;
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
  const { decrement = false } = options;
  const kube = await session.kube();
  const leaving = await leavingOf(kube, namespace, names, decrement);
  if (decrement) for (const { pool, vms } of leaving) await checkFewer(kube, pool, vms);
  for (const { pool, vms } of leaving) {
    if (decrement) await detachFewer(session, pool, vms, options);
    else await detachAll(session, pool, vms, options);
  }
}

async function detachAll(
  session: Session,
  pool: Leaving['pool'],
  vms: ChangedVm[],
  { dryRun, reason }: DetachOptions,
): Promise<void> {
  const kube = await session.kube();
  const left: string[] = [];
  for (const { name, uid } of vms) {
    const key = { namespace: pool.namespace, name, uid };
    let isPaused = false;
    const moveOf = (one: VmWithVmi): Move => {
      isPaused =
        roleOf(one.vm.metadata.labels) === 'Standby' && one.vmi !== undefined && vmiView(one.vmi).pause !== null;
      return leavingMove(pool, one);
    };
    if (dryRun === 'none' && !(await move(kube, key, moveOf))) continue;
    if (isPaused) note(`vm ${name} stood by, and is paused: \`virtctl unpause vm ${name}\` has it go on`);
    print(`${labelOf(Vms.resource, name)} ${wordsOf('detach', pool.name)}${dryRunRemark(dryRun)}`);
    left.push(name);
  }
  const now = dryRun === 'none' ? await poolAt(kube, pool) : undefined;
  if (now?.metadata.uid === pool.uid) await recordMembers(session, now, { ...DETACHED, vms: left, why: reason });
}

/** Throws `Failure` if the pool can't want so many VMs less. */
async function checkFewer(kube: KubeClient, key: PoolAt, vms: readonly ChangedVm[]): Promise<void> {
  checkCount('detach', vms);
  const pool = await poolToChange(kube, key);
  // Of a change that has not ended, they are counted already.
  if (membershipChangeOf(pool) === null) checkNumber(pool, 'detach', vms);
}

async function detachFewer(
  session: Session,
  pool: Leaving['pool'],
  vms: ChangedVm[],
  options: DetachOptions,
): Promise<void> {
  const { timeout, dryRun, reason: why } = options;
  const kube = await session.kube();
  const now = await poolToChange(kube, pool);
  const finished = await finishPending(session, now, 'detach', { timeout, isDryRun: dryRun !== 'none' });
  const fresh = vms.filter(({ uid }) => !finished.some((one) => one.uid === uid));
  if (fresh.length === 0) return;
  if (dryRun !== 'none') return detachAll(session, pool, fresh, options);
  await changeMembers(session, pool, { kind: 'detach', vms: fresh, isCounted: true, why }, { timeout });
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
      : `has no controller, and a worker will remove the labels of pool ${label}`;
  }
  if (kindOf(owner) !== 'VirtualMachinePool')
    return `belongs to ${owner.kind} ${owner.name}, which is not a pool of drover's`;
  if (vm.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  const { roleLabel, removing } = vmView(vm);
  if (roleLabel !== null && decrement)
    return `is none of the replicas of pool ${owner.name}, which then has no reason to want one less: leave --decrement out`;
  return removing ? `is just leaving pool ${owner.name}, with its disks kept` : null;
}
