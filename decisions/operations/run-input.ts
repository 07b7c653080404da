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

/**
 * The VMIs to restart or to migrate, or the VMs to start, stop or change: others of their names are left as they are.
 * Compact, since one input holds a hundred thousand of them.
 */
export interface ChosenDigests {
  count: number;
  /** Where they are; null if there are too many namespaces to list. */
  namespaces: string[] | null;
  /** Some bytes for each, in order, in base64. */
  digests: string;
}

/** By what an operation starts, stops, restarts, migrates or changes VMs. */
export interface PowerRunInput extends RunLimits, CommonInput {
  action: PowerAction;
  chosen: ChosenDigests;
  /** Which of the chosen VMs have failed before the operation begins anew: an index set. */
  ended: string;
  /** What the caches had seen when the VMs were chosen. */
  asOf: ResourceVersions;
}

/** By what an operation changes machine types. */
export interface TransitionRunInput extends CommonInput {
  action: 'MachineType';
  transition: Transition;
  /** What there was when it was made: the run does not end before it has seen the VMs from right before that. */
  asOf: ResourceVersions;
}

export type RunInput = PowerRunInput | TransitionRunInput;
