import { countOf } from '../../api/int-or-percent.ts';
import { DEFAULT_MAX_UNAVAILABLE } from '../../api/pool-defaults.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { isFinal, type VmiView } from '../views/vmi.ts';

/** The VMI of a VM; undefined where it has none. */
export type VmiOf = (vm: VmView) => VmiView | undefined;

/** Run strategies under which KubeVirt runs a VM without being asked to. */
const RUNS_BY_ITSELF = new Set(['Always', 'RerunOnFailure', 'Once']);

/** True where VMs made from the template run by themselves. */
export const runsByItself = ({ spec }: VmTemplate): boolean =>
  spec.running === true || RUNS_BY_ITSELF.has(spec.runStrategy ?? '');

/** The VMI whose guest runs or comes up; undefined where it ends, has ended, or is not there. */
export function liveVmi(vmi: VmiView | undefined): VmiView | undefined {
  return vmi === undefined || vmi.deleting || isFinal(vmi) ? undefined : vmi;
}

/** Whether the VM's owner wants it to run now: one that was stopped is not unavailable, however long it stays so. */
export function isMeantToRun(vm: VmView, vmi: VmiView | undefined): boolean {
  switch (vm.runStrategy) {
    case 'Always':
      return true;
    case 'Once':
      // KubeVirt starts it whenever it has no VMI, and leaves one that has ended, unless that goes.
      return vmi === undefined || vmi.deleting || !isFinal(vmi);
    case 'RerunOnFailure':
      if (vmi !== undefined) return vmi.phase !== 'Succeeded';
      return vm.changingState || vm.state !== 'Stopped';
    case 'Manual':
      if (vm.changingState || (vmi !== undefined && isFinal(vmi))) return vm.changingState;
      return liveVmi(vmi) !== undefined || saysItRuns(vm);
    default:
      return false;
  }
}

/**
 * What is known of its guest may be older, or newer: VMs and VMIs are watched apart, and of a restart only one half may
 * have been seen.
 */
const saysItRuns = ({ hasVmi, state }: VmView): boolean => hasVmi && state !== 'Stopping';

/**
 * The VMI of a guest that is to go on running; undefined for one that its owner has stopped, too: it goes by itself.
 */
export const activeVmi = (vm: VmView, vmi: VmiView | undefined): VmiView | undefined =>
  isMeantToRun(vm, vmi) ? liveVmi(vmi) : undefined;

/** Ready as KubeVirt says of both the VM and its VMI: the one lags behind the other when a guest goes. */
export const isReady = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vm.ready && vmi !== undefined && vmi.ready && !vmi.deleting;

/**
 * Since when the VM has been ready for `minReadyMs`, which may be still to come; null if it is down. One that need not
 * run always has been.
 */
export function availableSince(vm: VmView, vmi: VmiView | undefined, minReadyMs: number): number | null {
  if (!isMeantToRun(vm, vmi)) return 0;
  return isReady(vm, vmi) ? (vmi?.readySince ?? 0) + minReadyMs : null;
}

/**
 * Its owner, or a workflow, has asked KubeVirt to restart it: if it is still ready, it won't be for long. KubeVirt
 * never answers a request to a VM that was halted since, so that the request alone says nothing.
 */
export const isRestarting = (vm: VmView, vmi: VmiView | undefined): boolean =>
  vm.changingState && isMeantToRun(vm, vmi);

export const isDown = (vm: VmView, vmi: VmiView | undefined): boolean => isMeantToRun(vm, vmi) && !isReady(vm, vmi);

/**
 * It has no guest, and is not to have one: halted, shut down, or run once to its end. Its owner loses no service with
 * it.
 */
export const isAtRest = (vm: VmView, vmi: VmiView | undefined): boolean =>
  !isMeantToRun(vm, vmi) && (vmi === undefined ? !vm.hasVmi : isFinal(vmi));

/** VMs that stay in the pool: the others neither serve nor count. */
export const isStaying = (vm: VmView): boolean => !vm.deleting && !vm.removing;

export const maxUnavailableOf = ({ spec }: StoredPool): number =>
  countOf(spec.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE, spec.replicas, 1);

export interface UnavailabilityInput {
  pool: StoredPool;
  /** Those that stay in the pool. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** VMs in hand that may go down at any moment, or have not yet come back, by name. */
  inHand: Iterable<string>;
}

/**
 * The VMs that count against `maxUnavailable`: all that should run and are not ready, whatever the cause, those in
 * hand, and those that are missing from a pool of VMs that run by themselves.
 */
export function unavailability({ pool, vms, vmiOf, inHand }: UnavailabilityInput): {
  names: Set<string>;
  count: number;
} {
  const names = new Set(inHand);
  const present = new Set<string>();
  for (const vm of vms) {
    present.add(vm.name);
    if (isDown(vm, vmiOf(vm))) names.add(vm.name);
  }
  const absentInHand = [...names].filter((name) => !present.has(name)).length;
  const missing = runsByItself(pool.spec.template) ? Math.max(pool.spec.replicas - present.size - absentInHand, 0) : 0;
  return { names, count: names.size + missing };
}
