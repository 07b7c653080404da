import { controllerOf, type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/ownership.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/wanted-replicas.ts';
import {
  correctionOf,
  isListed,
  membershipChangeOf,
  type ChangedVm,
  type ListedChange,
  type MembershipChange,
} from '../../decisions/membership/change.ts';
import { joining, joiningTransfer, joiningVmi } from '../../decisions/membership/joining.ts';
import { asFormer } from '../../decisions/membership/label-patch.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { Pool } from '../cli/objects.ts';
import { note, print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import type { Session } from '../session/session.ts';
import { beginChange, unfinished, waitUntilCounted, type Patience, type PoolAt } from './change.ts';
import { ADOPTED, DETACHED, recordMembers } from './event.ts';
import { MembershipLease } from './lease.ts';
import { move, type Move, type VmWithVmi } from './members.ts';

/** Its annotation must hold them all. */
const MAX_VMS = 500;

type Kind = ListedChange['kind'];
type Change = MembershipChange & ListedChange;

/** Throws `Failure` for more VMs than one change takes. */
export function checkCount(kind: Kind, { length }: readonly unknown[]): void {
  if (length > MAX_VMS) throw new Failure(`${length} VMs are too many for one ${kind}: at most ${MAX_VMS} at a time`);
}

/** Which VMs a command moves. */
export interface Wanted {
  kind: Kind;
  vms: readonly ChangedVm[];
  /** Whether the pool wants so many more, or less, as it gets or loses VMs. */
  isCounted: boolean;
  /** The reason that was given. */
  why?: string | undefined;
}

/** Holds the pool, changes the number of VMs that it wants in the same write, moves these VMs, and lets it go on. */
export async function changeMembers(
  session: Session,
  key: PoolAt,
  { kind, vms, isCounted, why }: Wanted,
  patience: Patience,
): Promise<void> {
  const kube = await session.kube();
  // Another command may have moved some since they were chosen: the write is refused if one begins after this look.
  const changeOf = async (pool: Stored<Pool>): Promise<ListedChange | null> => {
    const left = await toMove(kube, pool, kind, vms);
    if (left.length === 0) return null;
    if (isCounted) checkNumber(pool, kind, left);
    const sign = kind === 'adopt' ? 1 : -1;
    return { kind, vms: left, replicas: isCounted ? sign * left.length : 0 };
  };
  const pool = await beginChange(kube, key, changeOf);
  if (pool === null) return note(goneWords(vms.length));
  const change = membershipChangeOf(pool) as Change;
  if (change.vms.length < vms.length) note(goneWords(vms.length - change.vms.length));
  await carryOut(session, pool, change, { ...patience, why });
}

const goneWords = (count: number): string => `${count} VMs were moved by others, or deleted, meanwhile`;

/** Refuses what would leave a change half done: the pool can't want less than none. */
export function checkNumber(pool: Stored<Pool>, kind: Kind, vms: readonly ChangedVm[]): void {
  const { name } = pool.metadata;
  const replicas = wantedReplicas(pool);
  if (kind === 'detach' && replicas < vms.length)
    throw new Failure(`pool ${name} wants ${replicas} VMs, and can't want ${vms.length} less: leave --decrement out`);
}

/** Returns those of the VMs that a change of this kind has to move. */
async function toMove(
  kube: KubeClient,
  pool: Stored<Pool>,
  kind: Kind,
  vms: readonly ChangedVm[],
): Promise<ChangedVm[]> {
  const { items } = await kube.list(VirtualMachines, { namespace: pool.metadata.namespace });
  const isMovable =
    kind === 'adopt'
      ? (vm: Stored) => controllerOf(vm) === undefined
      : (vm: Stored) => isControlledBy(vm, VirtualMachinePools, identityOf(pool));
  const movable = items.filter((vm) => vm.metadata.deletionTimestamp === undefined && isMovable(vm));
  const uids = new Set(movable.map((vm) => vm.metadata.uid));
  return vms.filter((vm) => uids.has(vm.uid));
}

/**
 * Finishes a change of this kind that has not ended, whoever began it. Returns its VMs; none if there is nothing to
 * finish. Throws `Failure` if the pool is held by something else, or nothing may be changed.
 */
export async function finishPending(
  session: Session,
  pool: Stored<Pool>,
  kind: Kind,
  { isDryRun, ...patience }: Patience & { isDryRun: boolean },
): Promise<ChangedVm[]> {
  const change = membershipChangeOf(pool);
  if (change === null) return [];
  if (change === 'unreadable' || !isListed(change) || change.kind !== kind || isDryRun) throw unfinished(pool, change);
  note(`pool ${pool.metadata.name}: what ${change.by} began at ${change.at} (${kind}) is finished first`);
  await carryOut(session, pool, change, patience);
  return change.vms;
}

/** Moves the VMs of the change, and lets the pool go on. What has not moved is counted as it was before. */
async function carryOut(
  session: Session,
  pool: Stored<Pool>,
  change: Change,
  { why, ...patience }: Patience & Pick<Wanted, 'why'>,
): Promise<void> {
  const kube = await session.kube();
  const { namespace = '', name } = pool.metadata;
  const key = { namespace, name };
  const hold = new MembershipLease(kube, key, change);
  const { moved, failures, isHeld } = await moveEach(kube, pool, change, hold);
  const names = moved.map((vm) => vm.name);
  await recordMembers(session, pool, { ...(change.kind === 'adopt' ? ADOPTED : DETACHED), vms: names, why });
  const others = change.vms.filter((vm) => !moved.includes(vm));
  if (isHeld && (await waitUntilCounted(session, key, patience, () => hold.keep())))
    await hold.end({ replicas: correctionOf(change, (vm) => moved.includes(vm) === (change.kind === 'adopt')) });
  else if (others.length > 0)
    failures.push(
      new Failure(`pool ${name} went on without this command, or is being deleted: run it again for what is left`),
    );
  const gone = others.length - failures.length;
  if (isHeld && gone > 0) note(goneWords(gone));
  throwAll(failures);
}

interface Moved {
  moved: ChangedVm[];
  failures: unknown[];
  /** Whether the pool was still held after the last VM. */
  isHeld: boolean;
}

async function moveEach(
  kube: KubeClient,
  pool: Stored<Pool>,
  { kind, vms }: Change,
  hold: MembershipLease,
): Promise<Moved> {
  const result: Moved = { moved: [], failures: [], isHeld: true };
  for (const vm of vms) {
    const mayMove = async (): Promise<boolean> => (result.isHeld &&= await hold.keep());
    // What another command has moved meanwhile needs nothing more.
    const act = async (): Promise<boolean> =>
      (result.isHeld && (await moveOne(kube, pool, kind, vm, mayMove))) || (await hasMoved(kube, pool, kind, vm));
    const isThere = await act().catch((error: unknown) => {
      if (!(error instanceof KubeError)) throw error;
      result.failures.push(
        new Failure(`vm ${vm.name} could not ${kind === 'adopt' ? 'be adopted' : 'be detached'}: ${error.message}`, {
          cause: error,
        }),
      );
      return false;
    });
    if (!isThere) continue;
    print(`${labelOf(Vms.resource, vm.name)} ${wordsOf(kind, pool.metadata.name)}`);
    result.moved.push(vm);
  }
  return result;
}

/** What is said of a VM that has moved. */
export const wordsOf = (kind: Kind, pool: string): string =>
  kind === 'adopt' ? `adopted by pool ${pool}` : `detached from pool ${pool}`;

/** Returns false if the VM is not there any more, or has moved already. */
const moveOne = (
  kube: KubeClient,
  pool: Stored<Pool>,
  kind: Kind,
  { name, uid }: ChangedVm,
  mayMove: () => Promise<boolean>,
): Promise<boolean> =>
  move(
    kube,
    { namespace: pool.metadata.namespace!, name, uid },
    (one) => (kind === 'adopt' ? joiningMove(pool, one, kube.clock.now()) : leavingMove(pool.metadata, one)),
    mayMove,
  );

function joiningMove(pool: Stored<Pool>, { vm, vmi }: VmWithVmi, now: number): Move {
  const stored = pool as unknown as StoredPool;
  const fit = joining(stored, vm, vmi);
  return { transfer: joiningTransfer(stored, fit, null, now), vmi: joiningVmi(stored, fit) };
}

/** What a VM, and its VMI, lose as they leave the pool. */
export function leavingMove({ name, uid }: { name: string; uid: string }, { vm, vmi }: VmWithVmi): Move {
  const { labels, annotations } = asFormer(name, vm.metadata);
  const of = asFormer(name, vmi?.metadata ?? {});
  return {
    transfer: { from: uid, to: null, labels, annotations },
    vmi: { labels: of.labels, annotations: of.annotations },
  };
}

/** Reports whether the VM is where the change has it. One that somebody has deleted has left as well. */
async function hasMoved(kube: KubeClient, pool: Stored<Pool>, kind: Kind, vm: ChangedVm): Promise<boolean> {
  const { namespace } = identityOf(pool);
  const now = await ignoreNotFound(kube.get(VirtualMachines, { namespace, name: vm.name }));
  const isMember = now?.metadata.uid === vm.uid && isControlledBy(now, VirtualMachinePools, identityOf(pool));
  return isMember === (kind === 'adopt');
}
