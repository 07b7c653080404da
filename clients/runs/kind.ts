import type { QueryDefinition } from '@temporalio/common';
import type { RunProgress, RunOutline } from '../../decisions/runs/progress.ts';
import type { Cell } from '../cli/output.ts';

/** Memo of every workflow that a person starts, for lists. */
export interface RunMemo extends Record<string, unknown> {
  requestedBy: string;
  reason: string | null;
  /** RFC 3339: start of the first run. Later runs (continue-as-new) have later start times. */
  begunAt: string;
}

/** A kind of workflow that people start, list, follow and control. */
export interface RunKind<P extends RunProgress, Listed extends object> {
  workflowType: string;
  /** Such as `machine type transition`. */
  noun: string;
  /** What its commands begin with, such as `drover machine-types`. */
  command: string;
  idOf: (cluster: string, id: string) => string;
  query: QueryDefinition<P>;
  outlineOf: (progress: P) => RunOutline;
  /** What lists show of it: from its memo, which somebody else may have written. */
  listed: (memo: Partial<Listed>) => Listed;
  columns: string[];
  cellsOf: (listed: Listed) => Cell[];
  /** What becomes of it if somebody ends its workflow. */
  cutOff: (progress: P) => string | null;
}
