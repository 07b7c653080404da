import type { PowerAction } from '../power/action.ts';
import type { RunLimits } from './limits.ts';
import type { OperationRef } from './ref.ts';

/** What the run of an operation is started with: see `PowerVmsInput`. */
export interface RunInput extends RunLimits {
  operation: OperationRef;
  action: PowerAction;
  /** UIDs of VMIs or VMs by namespace and VM name. */
  chosen: Record<string, Record<string, string>>;
  requestedBy: string;
  reason: string | null;
}
