import type { Condition } from '../pool/status.ts';

/**
 * Conditions in the status of operations, and their reasons, as `CONDITION_REASONS` are those of pools and sets:
 * `docs/operations.md` names all of them.
 */
export const OPERATION_REASONS = {
  Progressing: {
    Restarting: 'VMs are restarted',
    Starting: 'VMs are started',
    Stopping: 'VMs are stopped',
    Migrating: 'VMs are migrated',
    Patching: 'VMs are changed',
    Checking: 'the VMs that match, and the types that they would get, are being determined',
    Changing: 'machine types of VMs are changed, or VMs are restarted for that',
    Waiting: 'it waits for owners, pools, a window or a budget',
    Paused: 'no further VM is touched',
    Aborting: 'no further VM is touched, and it ends once those in progress are done',
    Complete: 'all of its VMs are done',
    VmsFailed: 'VMs have failed',
    Incomplete: 'VMs were skipped that must not be touched',
    Aborted: 'a user has ended it',
    Restored: 'it comes from a backup, and is not carried out again',
    Refused: 'it is not carried out, for the reason in the message',
    NotFound: 'a VM or an owner that it names does not exist',
    TooManyVms: 'it matches more VMs than one operation may have',
    InvalidGlob: 'the glob of its machine type is malformed',
    InvalidPatch: 'no VM can be changed by its patch',
  },
  Paused: {
    PausedBySpec: 'by `spec.paused`',
    NotPaused: '',
  },
} as const satisfies Record<string, Record<string, string>>;

export type ProgressingReason = keyof typeof OPERATION_REASONS.Progressing;

/** How an operation ends. Any but `Complete` is a failure: not all that was asked for is done. */
export type EndReason = Exclude<
  ProgressingReason,
  | 'Restarting'
  | 'Starting'
  | 'Stopping'
  | 'Migrating'
  | 'Patching'
  | 'Checking'
  | 'Changing'
  | 'Waiting'
  | 'Paused'
  | 'Aborting'
>;

export type OperationCondition = Omit<Condition, 'lastTransitionTime' | 'type' | 'reason'> &
  (
    | { type: 'Progressing' | 'Ready' | 'Reconciling' | 'Stalled'; reason: ProgressingReason }
    | { type: 'Complete'; reason: 'Complete' }
    | { type: 'Failed'; reason: Exclude<EndReason, 'Complete'> }
    | { type: 'Paused'; reason: keyof typeof OPERATION_REASONS.Paused }
  );
