import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { RoleEntry } from '../../api/pool/pool.ts';
import { earliestAfter } from '../lib/earlier-and-later.ts';
import type { PlanInput } from '../owners/plan-input.ts';
import { targets, vmNames, type PoolStep } from '../owners/steps.ts';
import type { StoredPool } from '../views/pool.ts';
import type { MemberRole, VmView } from '../views/vm.ts';

/**
 * The pool's status records which of its VMs are not replicas, before they are made: an extra VM is deleted with its
 * disks, and every client that may change the VM can write the label that shows users its role.
 */

/** How much later than its VM an entry may have been written, by clocks that differ. */
const CLOCK_SKEW_MS = 60_000;
/** After this time, a VM that was to be made is removed from the record: the attempt to make it has been given up. */
const FORGET_MS = 5 * 60_000;
/** How many VMs one step corrects. */
const MAX_VMS = 250;

type Recorded = readonly RoleEntry[];
type Known = Pick<VmView, 'name' | 'uid' | 'createdAt' | 'roleLabel'>;

/**
 * Reports whether this entry is about this VM, and not about an earlier or later one of its name. Until the UID is
 * known, that is the VM which was made with this label since.
 */
const isEntryOf = ({ role, uid, at }: RoleEntry, vm: Known): boolean =>
  uid === undefined ? vm.roleLabel === role && vm.createdAt >= Date.parse(at) - CLOCK_SKEW_MS : uid === vm.uid;

const recordOf = (pool: Pick<StoredPool, 'status'> | undefined): Recorded => pool?.status?.roles ?? [];

const byName = (pool: Pick<StoredPool, 'status'> | undefined): ReadonlyMap<string, RoleEntry> =>
  new Map(recordOf(pool).map((entry) => [entry.vm, entry]));

/** Returns what gives each VM of the pool the role that the pool's record tells. */
export function withRolesOf(pool: Pick<StoredPool, 'status'> | undefined): (vm: VmView) => VmView {
  const entries = byName(pool);
  return (vm) => {
    const entry = entries.get(vm.name);
    const role = entry !== undefined && isEntryOf(entry, vm) ? entry.role : null;
    return role === vm.role ? vm : { ...vm, role };
  };
}

export const roleIn = (pool: Pick<StoredPool, 'status'> | undefined, vm: VmView): MemberRole | null =>
  withRolesOf(pool)(vm).role;

/**
 * Returns why a VM must not be made in this role, by the pool as it is right before; null if it may. Without its entry
 * it would be a replica too many; and with that of another role, no replica.
 */
export function unannounced(
  pool: Pick<StoredPool, 'status'> | undefined,
  name: string,
  role: MemberRole | null,
): string | null {
  const entry = byName(pool).get(name);
  if (role === null)
    return entry !== undefined && entry.uid === undefined ? 'another VM of this name is to be made' : null;
  return entry?.role === role ? null : 'it is not on record';
}

/**
 * Returns the record with VMs of these names to be made in this role. `uidOf`: the UID of the VM of this name,
 * undefined if there is none. An existing VM keeps its role: a client that may label it could announce its creation as
 * well.
 */
export function announced(
  roles: Recorded | undefined,
  { names, role, at }: { names: readonly string[]; role: MemberRole | null; at: string },
  uidOf: (name: string) => string | undefined,
): RoleEntry[] {
  const meant = new Set(names);
  const kept = (roles ?? []).filter((entry) => {
    if (!meant.has(entry.vm)) return true;
    return entry.uid === undefined ? entry.role === role : entry.uid === uidOf(entry.vm);
  });
  if (role === null) return kept;
  const listed = new Set(kept.map(({ vm }) => vm));
  const missing = names.filter((name) => !listed.has(name) && uidOf(name) === undefined);
  return [...kept, ...missing.map((vm) => ({ vm, role, at }))];
}

/** A VM that was made in a role, or put into it. `isNew`: just now; otherwise the record has to tell. */
export interface Made {
  vm: VmView;
  isNew: boolean;
}

/** Returns the record with the UIDs of these VMs of this role. */
export function identified(
  roles: Recorded | undefined,
  { made, role, at }: { made: readonly Made[]; role: MemberRole; at: string },
): RoleEntry[] {
  const before = new Map((roles ?? []).map((entry) => [entry.vm, entry]));
  const isMeant = ({ vm, isNew }: Made): boolean => {
    const entry = before.get(vm.name);
    return isNew || (entry?.role === role && isEntryOf(entry, vm));
  };
  const uids = new Map(made.filter(isMeant).map(({ vm }) => [vm.name, vm.uid]));
  const others = (roles ?? []).filter(({ vm }) => !uids.has(vm));
  return [...others, ...[...uids].map(([vm, uid]) => ({ vm, role, uid, at: before.get(vm)?.at ?? at }))];
}

type RolesInput = Pick<PlanInput, 'pool' | 'vms' | 'uncontrolled' | 'inProgress' | 'now'>;

/**
 * Returns the step by which labels follow the record, and the record the VMs that there are. `wakeAt` of a VM that was
 * never made: a later one of its name is none of this role.
 */
export function roleSteps(input: RolesInput): { steps: PoolStep[]; requeueAt: number | null } {
  const { pool, vms, uncontrolled = [], inProgress, now } = input;
  const busy = new Set([...inProgress.creating, ...(inProgress.standby ?? []), ...inProgress.deleting]);
  // One that a backup has brought back is about to be the pool's.
  const back = uncontrolled.filter(({ ownLabels }) => ownLabels[POOL_LABEL] === pool.metadata.name);
  const there = new Map([...back, ...vms].map((vm) => [vm.name, vm]));
  const mislabelled = vms
    .filter((vm) => !vm.deleting && !busy.has(vm.name) && vm.roleLabel !== vm.role)
    .slice(0, MAX_VMS);
  const free = recordOf(pool).filter(({ vm }) => !busy.has(vm));
  const unknown = free.filter((entry) => isUntidy(entry, there.get(entry.vm)));
  const due = unknown.filter((entry) => there.has(entry.vm) || forgottenAt(entry) <= now);
  const waiting = unknown.filter((entry) => !due.includes(entry));
  const requeueAt = earliestAfter(now, waiting.map(forgottenAt));
  if (due.length === 0 && mislabelled.length === 0) return { steps: [], requeueAt };
  const reason =
    mislabelled.length === 0
      ? `bring the record of roles up to date with ${due.length} ${due.length === 1 ? 'VM' : 'VMs'}`
      : `correct the role labels of ${vmNames(mislabelled)}`;
  return { steps: [{ kind: 'setRoles', vms: targets(mislabelled), reason }], requeueAt };
}

/** Whether an entry lacks the UID of its VM, or its VM is gone. */
const isUntidy = (entry: RoleEntry, vm: VmView | undefined): boolean =>
  entry.uid === undefined || vm?.uid !== entry.uid;

const forgottenAt = ({ uid, at }: RoleEntry): number => (uid === undefined ? Date.parse(at) + FORGET_MS : 0);

/**
 * Returns the record with what the API server has of the VMs of untidy entries; `vmOf`: undefined for a VM that is
 * gone, or has left the pool.
 */
export const reconciled = (
  roles: Recorded | undefined,
  vmOf: (entry: RoleEntry) => VmView | undefined,
  now: number,
): RoleEntry[] =>
  (roles ?? []).flatMap((entry): RoleEntry[] => {
    const vm = vmOf(entry);
    if (vm !== undefined && isEntryOf(entry, vm)) return [{ ...entry, uid: vm.uid }];
    return entry.uid === undefined && forgottenAt(entry) > now ? [entry] : [];
  });
