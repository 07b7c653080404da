import type { ResourceVersions } from '../lib/resource-versions.ts';
import type { Transition } from '../machine-types/transition.ts';
import type { PowerAction } from '../power/action.ts';
import type { RunLimits } from './limits.ts';
import type { OperationRef } from './ref.ts';

interface CommonInput {
  /** What is acted for: the activities go by it, and by nothing that it does not say. */
  operation: OperationRef;
  requestedBy: string;
  reason: string | null;
}

/** By what an operation starts, stops, restarts, migrates or changes VMs. */
export interface PowerRunInput extends RunLimits, CommonInput {
  action: PowerAction;
  /**
   * UIDs of the VMIs to restart, or of the VMs to start or stop, by namespace and VM name: others of their names are
   * left as they are. Compact, since one input holds thousands of them.
   */
  chosen: Record<string, Record<string, string>>;
}

/** By what an operation changes machine types. */
export interface TransitionRunInput extends CommonInput {
  action: 'MachineType';
  transition: Transition;
  /** What there was when it was made: the run does not end before it has seen the VMs from right before that. */
  asOf: ResourceVersions;
}

export type RunInput = PowerRunInput | TransitionRunInput;
