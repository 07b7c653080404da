import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';

/** What Temporal knows of the run of an operation. */
export type RunState =
  /** The operation does not exist, or the API server was restored since the run began: what the run did is undone. */
  | { is: 'missing' }
  /** `progress`: null if no worker answers just now. */
  | {
      is: 'running';
      progress: OperationProgress | null;
      /** What it keeps trying without success, a sentence each. */
      troubles: string[];
    }
  | { is: 'completed'; progress: OperationProgress }
  /** It was refused, or was ended in Temporal: `why` is a sentence. */
  | { is: 'ended'; progress: OperationProgress | null; reason: 'Refused' | 'RunEnded'; message: string };

/** How operations ask for their runs, and steer them: whose run it is says the operation alone. */
export interface RunControl {
  /** Id of the workflow of the operation. */
  workflowId(ref: OperationRef): string;
  /** Id of the workflow of its run. There is never more than one of an id, so that an operation has one run. */
  runId(ref: OperationRef): string;
  /** Returns how the run of the operation stands, or ended. */
  state(ref: OperationRef): Promise<RunState>;
  /** Resolves once the run is over, or if that can't be known, or `signal` is aborted. Never rejects. */
  over(ref: OperationRef, signal: AbortSignal): Promise<void>;
  /** Tells it, on behalf of its operation, to pause, resume or abort. One that has ended hears nothing. */
  signal(ref: OperationRef, what: { signal: 'pause' | 'resume' | 'abort'; by: string; reason: string }): Promise<void>;
}
