import { CORRECT_DRIFT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { WrittenVm } from '../merge/vm.ts';
import type { NewVirtualMachine } from '../template/vm-from-template.ts';
import { isCorrectionRequested } from '../views/annotations/correction-order.ts';
import { recordOf } from '../views/annotations/transition-record.ts';
import { driftOf, withoutDrift } from './drift.ts';

/**
 * Returns the VM without its drift and without the order to correct it, so that later drift is kept again; null if
 * nothing will be corrected. `made`: the VM that its pool would create from the VM's own revision.
 */
export function correctDrift<Vm extends WrittenVm>(vm: Vm, made: NewVirtualMachine, always: boolean): Vm | null {
  const { annotations } = vm.metadata;
  const transition = recordOf(annotations);
  const isRequested = isCorrectionRequested(annotations);
  if (!isRequested && (!always || driftOf({ vm, transition }, made).length === 0)) return null;
  const right = withoutDrift(vm, transition, made);
  const { [CORRECT_DRIFT_ANNOTATION]: _order, ...others } = right.metadata.annotations ?? {};
  return annotations === undefined ? right : { ...right, metadata: { ...right.metadata, annotations: others } };
}
