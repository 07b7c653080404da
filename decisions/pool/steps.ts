import type { RunNote } from '../healing/plan.ts';
import type { PlannedBatch } from '../rollout/next-batch.ts';
import type { Departure } from './departure.ts';

/** One VM that a step is about: the UID keeps another of its name safe, the version one that has changed since. */
export interface Target {
  name: string;
  uid: string;
  resourceVersion: string;
}

/** What is to be done next, each with its reason as a person reads it. */
export type PoolStep =
  | { kind: 'hold'; reason: string }
  | { kind: 'let-go'; reason: string }
  | { kind: 'create'; numbers: number[]; revision: string; reason: string }
  | { kind: 'delete'; vms: Target[]; keepDisks: boolean; because: Departure['because']; reason: string }
  | { kind: 'halt'; vms: Target[]; because: Departure['because']; reason: string }
  | { kind: 'release'; vms: Target[]; reason: string }
  | ({ kind: 'update' } & PlannedBatch)
  /** The template is kept as a ControllerRevision, should it change. */
  | { kind: 'keep'; reason: string }
  /** VMs of which something is to be noted: that they have run well, or which starts are known to have failed. */
  | { kind: 'mark'; vms: RunNote[]; reason: string }
  /** Kept disks that are not to come back. */
  | { kind: 'discard'; claims: { name: string; uid: string }[]; reason: string }
  /** Claims that are no kept disks any more. */
  | { kind: 'unmark'; claims: { name: string; uid: string; resourceVersion: string }[]; reason: string }
  /** Names of ControllerRevisions. */
  | { kind: 'prune'; revisions: string[]; reason: string };
