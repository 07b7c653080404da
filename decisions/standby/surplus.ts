import type { ScaleInRules } from '../../api/pool-defaults.ts';
import { isAtRest, type VmiOf } from '../disruption-budget/availability.ts';
import { isUpdated } from '../scaling/choice.ts';
import { scaleInOrder } from '../scaling/selection-order.ts';
import { mayLeave } from '../scaling/surplus.ts';
import type { StandbyVm } from './standby.ts';

export interface SpareInput {
  rules: ScaleInRules;
  vmiOf: VmiOf;
  /** Names of VMs that are being healed: they leave before others. */
  sick: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
  /** Standby VMs that stay unless chosen. */
  spare: readonly StandbyVm[];
}

/** Returns the standby VMs that leave, in the order of a scale-in: the strategy of the pool is theirs, too. */
export const chooseSpare = ({ rules, vmiOf, sick, target, spare }: SpareInput, excess: number): StandbyVm[] =>
  scaleInOrder(
    spare.filter((vm) => mayLeave({ rules, vmiOf }, vm)),
    {
      ...(rules.kind === 'proactive' ? { policy: rules.selectionPolicy } : {}),
      isSick: (vm) => sick.has(vm.name),
      isAtRest: (vm) => isAtRest(vm, vmiOf(vm)),
      isUpdated: (vm) => isUpdated(vm, vmiOf(vm), target),
    },
  ).slice(0, excess) as StandbyVm[];
