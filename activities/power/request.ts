import type { OperationRef } from '../../decisions/operations/ref.ts';
import type { SeenByRun } from '../../decisions/operations/restored.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import type { PowerPlan } from '../../decisions/power/plan.ts';
import type { PowerTally } from '../../decisions/power/progress.ts';

/** A VM that was acted on: by `namespace/name`, and since when, in milliseconds since the epoch. */
export interface ActedOn {
  vm: string;
  since: number;
}

/** What every call of an activity that acts for a run says. */
export interface RunRequest extends SeenByRun {
  /** VMs in progress, as an earlier call has returned them. */
  inProgress: ActedOn[];
  /** After how long news is told, in milliseconds. */
  reportMs: number;
  /** Digest of what the workflow knows about the VMs; null if it knows nothing yet. */
  digest: string | null;
}

/** What every such call returns. */
export interface RunChanges extends SeenByRun {
  /** Outcomes of VMs that were in progress. */
  settled: PowerOutcome[];
  inProgress: ActedOn[];
  /** Whether nothing is left to do or to wait for. */
  isOver: boolean;
  /** Why no further VM may be taken, and whether that is for good; null if VMs may be. */
  held: { why: string; isOver: boolean } | null;
  digest: string;
}

export interface ChangePowerRequest extends RunRequest, PowerTally {
  /** The operation that the run is for: by its UID, the run is noted on the VMs. */
  operation: OperationRef;
  action: PowerAction;
  requestedBy: string;
  reason: string | null;
  /** How long a VM may take if the operation no longer exists, in milliseconds. */
  deadlineMs: number;
  /** For how long no VM has been in progress, in milliseconds: after `deadlineMs`, the rest is left. */
  idledMs?: number;
}

export interface ChangedPower extends RunChanges, Pick<PowerPlan, 'open' | 'skipped' | 'full'> {
  idledMs: number;
}
