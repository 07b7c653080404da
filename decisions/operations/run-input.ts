import type { ResourceVersions } from '../lib/resource-versions.ts';
import type { Transition } from '../machine-types/transition.ts';
import type { PowerAction } from '../power/action.ts';
import type { RunLimits } from './limits.ts';
import type { OperationRef } from './ref.ts';

interface CommonInput {
  operation: OperationRef;
  requestedBy: string;
  reason: string | null;
}

/** What the run of an operation on chosen VMs is started with: see `PowerVmsInput`. */
export interface PowerRunInput extends RunLimits, CommonInput {
  action: PowerAction;
  /** UIDs of VMIs or VMs by namespace and VM name. */
  chosen: Record<string, Record<string, string>>;
}

/** What the run of a change of machine types is started with: see `MachineTypeTransitionInput`. */
export interface TransitionRunInput extends CommonInput {
  action: 'MachineType';
  transition: Transition;
  /** What there was when it was made: the run does not end before it has seen the VMs from right before that. */
  asOf: ResourceVersions;
}

export type RunInput = PowerRunInput | TransitionRunInput;
