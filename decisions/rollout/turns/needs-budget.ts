import { isDown } from '../../health/availability.ts';
import type { BatchVm } from '../../owners/batch.ts';
import { isRegular, type VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';

/** Whether a VM of a batch must wait for the budget: others go down without a loss of service. */
export const needsBudget = ({ act }: Pick<BatchVm, 'act'>, vm: VmView, vmi: VmiView | undefined): boolean =>
  act !== 'write' && isRegular(vm) && !isDown(vm, vmi);
