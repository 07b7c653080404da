import { DisruptionBudget } from '../../disruption-budget/budget.ts';
import { isDown, type VmiOf } from '../../health/availability.ts';
import type { BatchVm } from '../../owners/batch.ts';
import type { StoredPool } from '../../views/pool.ts';
import { isRegular, type VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';

interface TurnInput {
  pool: StoredPool;
  /** VMs that the pool owns, of any role. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** Names of VMs that may go down at any moment, or have not come back. */
  onTheirWay: Iterable<string>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** How many more VMs a batch may take down. */
export function roomIn({ pool, vms, vmiOf, onTheirWay, now }: TurnInput): number {
  return new DisruptionBudget({ pool, vms, vmiOf, acting: onTheirWay, now }).left;
}

/** Whether a VM of a batch must wait for the budget: others go down without a loss of service. */
export const needsRoom = ({ act }: Pick<BatchVm, 'act'>, vm: VmView, vmi: VmiView | undefined): boolean =>
  act !== 'write' && isRegular(vm) && !isDown(vm, vmi);
