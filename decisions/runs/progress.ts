import type { Skipped } from './skipped.ts';
import type { ControlledRun } from './user-request.ts';

/** A VM that has failed. */
export interface FailedVm {
  vm: string;
  /** Empty if it is not kept. */
  message: string;
  /** RFC 3339; absent if it is not kept. */
  at?: string;
  /** It was not ready before either: its failure says nothing about what was done to it. */
  wasDown?: true;
}

/** What every run that acts on VMs reports. VMs are named by `namespace/name`. */
export interface RunProgress extends ControlledRun {
  phase: string;
  failed: FailedVm[];
  inProgress: string[];
  /** VMs that are deferred or excluded, by reason. */
  skipped: Skipped[];
  /** What the others wait for: full budgets and what fills them, a closed window. */
  full: string[];
}

/** What a kind of run reports in addition to what all runs report: the terminal and the Web UI show both. */
export interface RunOutline {
  /** Null while it is not known which VMs the run is about. */
  numbers: RunNumbers | null;
  /** Its end, or what it has done so far, in a sentence. */
  end: string;
  /** VMs that are neither done, nor failed, nor excluded. */
  open: number;
  isOver: boolean;
  /** It has ended early, because too many have failed. */
  isTripped: boolean;
  maxFailures: number;
  /** All that have failed: `failed` may name fewer. */
  failures: number;
  /** What is wrong with what it does, a sentence each. */
  faults: string[];
  /** What was asked for, by whom and why: what does not change while it runs. */
  about: string[];
}

/** Phases in which nothing more is done. */
export const OVER: ReadonlySet<string> = new Set(['Complete', 'Failed', 'Refused', 'Aborted']);

interface RunNumbers {
  done: number;
  of: number;
  /** What was done, such as `restarted`. */
  doneAs: string;
  /** The other VMs, such as `5 to go`; nothing of which there are none. */
  others: string[];
}
