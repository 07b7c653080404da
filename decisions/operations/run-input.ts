import type { PowerAction } from '../power/action.ts';

/** What the run of an operation is started with: see `PowerVmsInput`. */
export interface RunInput {
  action: PowerAction;
  /** UIDs of VMIs or VMs by namespace and VM name. */
  chosen: Record<string, Record<string, string>>;
  atOnce: number;
  maxFailures: number;
  deadlineMs: number;
  requestedBy: string;
  reason: string | null;
}
