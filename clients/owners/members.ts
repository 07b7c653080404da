import { type Condition, type KubeObject, type Stored } from '../../api/objects.ts';
import { byController } from '../../api/owner-references.ts';
import { blockingFinalizers } from '../../decisions/from-object/blocking-finalizers.ts';
import { NOT_READY_CONDITIONS } from '../../decisions/from-object/vmi.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { byName } from '../cli/owner.ts';
import { formatWarning, type Warning } from '../history/warnings.ts';

/** A VM as the API server has it, with the fields that commands read; or another object that a set keeps. */
export interface Member extends KubeObject {
  spec?: { runStrategy?: string };
  status?: {
    ready?: boolean;
    printableStatus?: string;
    /** Of an instance, which has no `ready` and no `printableStatus`. */
    phase?: string;
    conditions?: Condition[];
    startFailure?: { consecutiveFailCount?: number; retryAfterTimestamp?: string | null };
  };
}

/**
 * Finds the members of objects of a kind among these VMs or VMIs, in order of their names. Labels are for users: owner
 * references decide.
 */
export const membersByOwner = (members: Stored<Member>[], { resource }: Pick<OwnerKind, 'resource'>) =>
  byController(members.toSorted(byName), resource);

export const isReady = ({ metadata, status }: Member): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.ready ?? status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) === true;

export const stateOf = (vm: Member): string =>
  vm.metadata.deletionTimestamp === undefined
    ? (vm.status?.printableStatus ?? vm.status?.phase ?? 'Created')
    : 'Terminating';

/** A VM that its owner has stopped is as it should be; one that is to run is `Stopped` until KubeVirt looks at it. */
export const isStopped = (vm: Member): boolean => stateOf(vm) === 'Stopped' && vm.spec?.runStrategy !== 'Always';

export const isDown = (vm: Member): boolean => !isReady(vm) && !isStopped(vm);

/**
 * Returns why KubeVirt says a VM is not ready; empty for a ready VM, and if KubeVirt says nothing. Between two starts,
 * there is no VMI to tell why: then `warning`, the last about the VM, does.
 */
export function whyNotReady(vm: Member, warning?: Warning, now = Date.now()): string {
  if (isReady(vm)) return '';
  const blockedBy = blockingFinalizers(vm.metadata);
  if (blockedBy !== null) return `held by the finalizer ${blockedBy}`;
  const found = vm.status?.conditions?.filter(
    ({ type, status, message }) => status === (NOT_READY_CONDITIONS.includes(type) ? 'False' : 'True') && message,
  );
  // A false Ready says little more than that the VM does not run, or has no VMI.
  const telling = ['Failure', ...NOT_READY_CONDITIONS].flatMap(
    (type) => found?.find((one) => one.type === type) ?? [],
  )[0];
  const failure = telling ?? found?.[0];
  const starts = failedStarts(vm, now);
  const detail = failure?.reason === NO_VMI ? (WHY_NO_VMI[stateOf(vm)] ?? '') : (failure?.message ?? '');
  return [starts, detail, warning === undefined ? '' : formatWarning(warning, now)].filter(Boolean).join('; ');
}

/** KubeVirt's reason of `Ready` while a VM has no VMI, which says nothing of why. */
const NO_VMI = 'VMINotExists';

/** What a VM waits for that has no VMI, by its state. */
export const WHY_NO_VMI: Partial<Record<string, string>> = {
  Provisioning: 'its disks are being made or filled',
  WaitingForVolumeBinding: 'its claims are not bound yet',
  DataVolumeError: 'a DataVolume of it has failed',
};

/** `3 failed starts, the next at 2026-11-27T16:04:09Z`. */
function failedStarts({ status }: Member, now: number): string {
  const { consecutiveFailCount: count = 0, retryAfterTimestamp: retryAt } = status?.startFailure ?? {};
  if (count === 0) return '';
  const next = retryAt != null && Date.parse(retryAt) > now ? `, the next at ${retryAt}` : '';
  return `${count} failed start${count === 1 ? '' : 's'}${next}`;
}

/** The members that count as replicas of their owner: no standby and no extra VMs. */
export const replicasAmong = (members: readonly Stored<Member>[]): Stored<Member>[] =>
  members.filter(({ metadata }) => roleOf(metadata.labels) === null);

/** How many standby VMs a pool wants and has; null if it is not about any. */
export function standbyOf({ spec, status }: Pool): { wanted: number; total: number; ready: number } | null {
  const { standbyReplicas: total = 0, readyStandbyReplicas: ready = 0 } = status ?? {};
  return spec.standby === undefined && total === 0 ? null : { wanted: spec.standby?.replicas ?? 0, total, ready };
}

/** Returns how many VMs are in each state, the largest number first. */
export function countStates(vms: Member[]): [state: string, count: number][] {
  const groups = Map.groupBy(vms, stateOf);
  return [...groups]
    .map(([state, { length }]): [string, number] => [state, length])
    .sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
}

export const formatStates = (vms: Member[]): string =>
  countStates(vms)
    .map(([state, count]) => `${state} ${count}`)
    .join(', ') || 'none';
