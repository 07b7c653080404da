import type { VmView } from '../views/vm.ts';
import { progressOf } from '../vm-update/progress.ts';
import type { RolloutContext } from './state/context.ts';

/** Names of VMs in batches. */
export interface VmsInProgress {
  all: ReadonlySet<string>;
  /** Replicas among them. */
  regular: ReadonlySet<string>;
  /** Replicas in progress that may still go down, or have not come back. */
  unsettled: ReadonlySet<string>;
}

/** Returns the VMs in batches whose updates are not finished. */
export function inProgressOf(context: RolloutContext): VmsInProgress {
  const { batches, vmiOf, now, correction } = context.input;
  const hasDrift = (vm: VmView): boolean => (correction?.(vm) ?? null) !== null;
  const byName = new Map(context.input.vms.map((vm) => [vm.name, vm]));
  const minReadyMs = context.spec.rollout.minReadySeconds * 1000;
  const all = new Set<string>();
  const regular = new Set<string>();
  const unsettled = new Set<string>();
  for (const { revision, vms } of batches) {
    for (const item of vms) {
      const vm = byName.get(item.name);
      const progress = progressOf({ item, revision, vm, vmiOf, hasDrift, minReadyMs, now });
      if (progress.state === 'well' || progress.state === 'gone') continue;
      all.add(item.name);
      const role = vm === undefined ? (item.role ?? null) : vm.role;
      if (role === null) regular.add(item.name);
      if (role === null && item.act !== 'write') unsettled.add(item.name);
      if (progress.state === 'waiting' && progress.until !== undefined) context.waits.requeue(progress.until);
    }
  }
  for (const { name, role = null } of context.input.queued) {
    all.add(name);
    if (role === null) regular.add(name);
  }
  return { all, regular, unsettled };
}
