import type { Stored } from '../../api/objects.ts';
import { byController } from '../../api/owner-references.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { vmiView, whyNotReady as saidIn, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf, type MemberRole } from '../../decisions/views/vm.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { byName } from '../cli/owner.ts';
import { formatWarning, type Warning } from '../history/warnings.ts';
import { seenVm, seenVmi, type SeenVm } from '../view/vm-state.ts';

/** A VM, or a VMI that a set keeps without one, as commands read it from the API server. */
export interface Member extends SeenVm, Stored {
  /** KubeVirt's word for its state, or `Terminating`. */
  status: string;
  /** What it is beside the replicas; null for a replica. */
  role: MemberRole | null;
  /** Why it is not ready; empty if it is, or nothing says. */
  why: string;
}

/** Makes members of objects of this kind. */
export const memberOf = ({ resource }: OwnerKind['members']): ((object: Stored) => Member) =>
  resource === VirtualMachines ? (vm) => vmMember(vm) : vmiMember;

/** `now`: milliseconds since the epoch. */
export function vmMember(vm: Stored<VirtualMachine>, now = Date.now()): Member {
  const view = vmView(vm);
  const { startFailure, conditions } = vm.status ?? {};
  const retryAt = startFailure?.retryAfterTimestamp ?? null;
  const said = view.failure ?? saidIn(conditions);
  const isSoon = retryAt !== null && Date.parse(retryAt) > now;
  return member(vm, view.state, seenVm(view, null, { said, retryAt: isSoon ? retryAt : null }), said);
}

export function vmiMember(vmi: Stored<VirtualMachineInstance>): Member {
  const view = vmiView(vmi);
  return member(vmi, view.phase, seenVmi(view), view.whyNotReady);
}

const member = ({ metadata }: Stored, status: string, seen: SeenVm, said: string | null): Member => ({
  metadata,
  ...seen,
  status: metadata.deletionTimestamp === undefined ? status || 'Created' : 'Terminating',
  role: roleOf(metadata.labels),
  why: seen.isReady ? '' : (seen.wait?.sentence ?? said ?? ''),
});

/**
 * Finds the members of objects of a kind among these VMs or VMIs, in order of their names. Labels are for users: owner
 * references decide.
 */
export const membersByOwner = (members: Member[], { resource }: Pick<OwnerKind, 'resource'>) =>
  byController(members.toSorted(byName), resource);

/** A VM that its owner has stopped is as it should be. */
export const isStopped = ({ state }: Member): boolean => state === 'O';

/** Why a member is not ready. Between two starts there is no VMI to tell: then `warning`, the last about it, does. */
export const whyNotReady = ({ isReady, why }: Member, warning?: Warning, now = Date.now()): string =>
  isReady ? '' : [why, warning === undefined ? '' : formatWarning(warning, now)].filter(Boolean).join('; ');

/** The members that count as replicas of their owner: no standby and no extra VMs. */
export const replicasAmong = (members: readonly Member[]): Member[] => members.filter(({ role }) => role === null);

/** How many standby VMs a pool wants and has; null if it is not about any. */
export function standbyOf({ spec, status }: Pool): { wanted: number; total: number; ready: number } | null {
  const { standbyReplicas: total = 0, readyStandbyReplicas: ready = 0 } = status ?? {};
  return spec.standby === undefined && total === 0 ? null : { wanted: spec.standby?.replicas ?? 0, total, ready };
}

/** Returns how many VMs are in each state, the largest number first. */
export function countStates(vms: readonly Member[]): [state: string, count: number][] {
  const groups = Map.groupBy(vms, ({ status }) => status);
  return [...groups]
    .map(([state, { length }]): [string, number] => [state, length])
    .sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
}

export const formatStates = (vms: readonly Member[]): string =>
  countStates(vms)
    .map(([state, count]) => `${state} ${count}`)
    .join(', ') || 'none';
