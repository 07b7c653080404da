/**
 * Conditions in the status of pools and sets, and their reasons. They are part of the API: scripts wait for them. Each
 * has a description; `docs/status.md` or `docs/replica-sets.md` names all of them, and a test compares.
 */
export const CONDITION_REASONS = {
  Ready: {
    AsWanted: 'all members are there, available, and as the spec says',
    Starting: 'members are not available yet, or no longer',
    Pending: 'no worker has looked at it yet',
  },
  Reconciling: {},
  Available: {
    MinimumReplicasAvailable: 'enough VMs are available',
    MinimumReplicasUnavailable: 'more VMs than maxUnavailable are missing or not available, or all are',
  },
  Progressing: {
    RollingOut: 'VMs are brought to another revision',
    ScalingOut: 'VMs are created',
    ScalingIn: 'VMs are deleted',
    WaitingForApproval: 'a step waits for `drover rollout promote`',
    WaitingAtStep: 'a step waits for its time',
    WaitingForCheck: 'a step waits until its check has held for a time',
    WaitingForWindow: 'no maintenance window is open',
    Undoing: 'VMs return to the previous revision',
    Deleting: 'the pool is being deleted',
    Complete: 'nothing is left to do',
    OutdatedVms: 'VMs of an older revision are left to their owners',
    OutdatedPods: 'all VMs run the template, but pods lack what only the next start or migration gives them',
    Paused: 'the rollout is paused',
    Undone: 'VMs are back at the previous revision',
    UndoFailed: 'VMs could not be brought back',
    UpdateFailed: 'VMs have failed to get the template, or have not been ready since',
    Failed: 'too many VMs have failed, or the check of a step has',
    Aborted: 'a user has ended the rollout',
    ProgressDeadlineExceeded: 'VMs that are down for other reasons use up the disruption budget',
    Stuck: 'the rollout may wait forever for VMs that something else holds',
  },
  UpToDate: {
    UpToDate: 'all VMs that the pool wants run its template',
  },
  Paused: {
    PausedByUser: 'by `drover rollout pause`',
    PausedBySpec: 'by `spec.paused`',
    NotPaused: '',
  },
  Degraded: {
    UpdateFailed: 'VMs have failed',
    Failed: 'too many VMs have failed, or the check of a step has',
    Undoing: 'too many VMs have failed, or the check of a step has, and VMs are being rolled back',
    Undone: 'too many VMs had failed, and were rolled back',
    UndoFailed: 'VMs could not be brought back',
    NoFailures: '',
  },
  Healing: {
    ReplacingVms: 'VMs are being replaced',
    Waiting: 'unhealthy VMs are not replaced',
    NothingToHeal: 'no VM is unhealthy',
  },
  HealingSuspended: {
    TooManyUnhealthy: 'more VMs are unhealthy than maxUnhealthy allows',
    PausedByUser: 'by `drover heal pause`',
    NotSuspended: '',
  },
  Overlapping: {
    OverlappingSelectors:
      'the selector of another set of this kind matches its members, or its selector matches members of the other set',
    ControlledByOthers: 'the selector of a set matches VMs that others control',
    NamesTaken: 'other objects have names that a set would give its VMs',
  },
  Stalled: {
    InvalidTemplate: 'the template is not supported',
    InternalError: 'an error in drover',
  },
  ScaleInBlocked: {
    Protected: 'VMs are protected from scale-in',
    Unmanaged: 'the strategy of the pool leaves scale-in to users',
    NotHalted: 'the strategy of the pool takes only VMs that are halted',
    WaitingForWindow: 'no window for scale-in is open',
    InvalidRemoveAnnotation: 'the annotation that names the VMs to remove is invalid',
  },
  Drifted: {
    Kept: 'users have changed VMs, and the changes are kept',
    Correcting: 'users have changed VMs, and updates correct that',
  },
  MembershipChanging: {
    Finishing: 'the pool first finishes what it has begun',
    TakingOver: 'VMs of a KubeVirt pool move to it',
    Releasing: 'its VMs move to a KubeVirt pool',
    InvalidAnnotation: 'the annotation that holds the pool cannot be read',
  },
  Restoring: {
    WaitingForMembers: 'restored from a backup: the members may still be coming back',
    MoreThanWanted: 'more VMs have come back from a backup than the pool wants',
  },
  Draining: {
    Evacuating: 'VMs are being moved off nodes that are drained',
    WaitingForBudget: 'VMs wait for the disruption budget',
    WaitingForWindow: 'VMs wait for a window of spec.drain',
    Waiting: 'VMs wait for something that passes by itself',
    Stuck: 'VMs may wait forever',
  },
  Contended: {
    AnotherInstallation: 'another installation of drover also writes the status of the pool',
  },
  ConfigurationNotWatched: {
    Forbidden: 'the worker may not see whether Secrets and ConfigMaps change',
  },
  DisksKept: {
    Kept: 'disks of VMs that have left are kept',
    OutdatedTemplate: 'kept disks are not as the template would make them',
  },
  ReplicaFailure: {
    FailedCreate: 'VMs could not be created',
    FailedDelete: 'VMs could not be deleted',
    FailedFinalizer: 'the finalizer of a pool or a set could not be added or removed, or its UID could not be recorded',
    FailedPromote: 'standby VMs could not become replicas',
    FailedStandby: 'standby VMs could not be created, or brought to their state',
    FailedSurge: 'extra VMs of an update could not be created',
    FailedAdopt:
      'VMs that match the selector of a set, that a user wants in a pool, or that a backup has brought back, could not be adopted',
    FailedRelease: 'VMs that no longer match the selector of a set, or that a user detaches, could not be released',
    FailedStart: 'VMs cannot start, or VMIs of a set end before they have come up',
  },
  HousekeepingFailure: {
    FailedLabel: 'VMs that the pool owns could not be labelled',
    FailedChangeMembers:
      'the VMs of a pool could not be moved to a KubeVirt pool yet, or those of a KubeVirt pool to it',
    FailedKeepReplicas: 'the number of replicas could not be written into a spec that leaves it out',
    FailedSetRoles: 'the labels of extra and standby VMs could not be corrected',
    FailedRemoveDiskFinalizers: 'VMs that were taken out of the pool could not be released',
    FailedUnlabel: "the pool's labels could not be removed from VMs that were taken out of it",
    FailedAnnotateRuns: 'it could not be recorded on VMs whether they have run',
    FailedClearNamedRemovals: 'VMs that have left could not be removed from the list of VMs to remove',
    FailedUnlabelKeptDisks: 'the labels of kept disks that VMs use again could not be removed',
    FailedCreateRevision: 'the template could not be stored as a ControllerRevision',
    FailedDeleteRevisions: 'ControllerRevisions that nothing uses could not be deleted',
    FailedCheck: 'what was seen of the check of a step could not be recorded',
  },
} as const satisfies Record<string, Record<string, string>>;

export type ConditionType = keyof typeof CONDITION_REASONS;

/** A pool that is not up to date, or an owner that is not ready, gives the reason of the condition that says why. */
export type ConditionReason<Type extends ConditionType> =
  | keyof (typeof CONDITION_REASONS)[Type]
  | (Type extends 'UpToDate' ? ConditionReason<'Progressing'> : never)
  | (Type extends 'Stalled' ? ConditionReason<'UpToDate' | 'ScaleInBlocked' | 'ReplicaFailure'> : never)
  | (Type extends 'Reconciling' ? ConditionReason<'Ready'> : never)
  | (Type extends 'Ready' ? ConditionReason<'Stalled'> : never);

/** Reasons of the Events that drover records on pools and VMs. */
export const EVENT_REASONS = {
  SuccessfulCreate: 'VMs were created',
  FailedCreate: 'VMs could not be created',
  SuccessfulPromote: 'standby VMs became replicas',
  FailedPromote: 'standby VMs could not become replicas',
  SuccessfulDelete: 'VMs were deleted',
  FailedDelete: 'VMs could not be deleted',
  SuccessfulAdopt: 'VMs were adopted by a set whose selector they match, or by a pool, by a command or after a restore',
  FailedAdopt:
    'VMs that match the selector of a set, that a user wants in a pool, or that a backup has brought back, could not be adopted',
  SuccessfulRelease: 'VMs that no longer match the selector of a set were released, or VMs of a pool moved to KubeVirt',
  FailedRelease: 'VMs that no longer match the selector of a set could not be released',
  SuccessfulPaused: 'a set was paused',
  SuccessfulResumed: 'a set was resumed',
  FailedStart: 'VMs of a set cannot start; or its VMIs end before they have come up, and the next are made later',
  SuccessfulDetach:
    'VMs have left their pool: a user asked for that, or they lost its labels because nothing controls them',
  FailedDetach: 'VMs that a user detaches could not leave their pool',
  CloneUnlabelled: 'clones of VMs of a pool lost its labels: they are not of the pool',
  SuccessfulAttach: 'VMs that a user put into the pool by hand got its labels',
  RoleLabelCorrected:
    'a label with the role of a VM in its pool had been changed; it matches the status of the pool again',
  SuccessfulHalt: 'VMs that leave with their disks kept were halted',
  FailedHalt: 'VMs that leave with their disks kept could not be halted',
  SuccessfulUpdate: 'VMs were brought to another revision',
  FailedUpdate: 'VMs could not be brought to another revision',
  KeptDisksDeleted: 'kept disks that are no longer needed were deleted',
  Started: 'a VM was started, because a user asked for that',
  Stopped: 'a VM was stopped, because a user asked for that',
  Restarted: 'a VM was restarted, because a user asked for that',
  Migrating: 'a VM is live-migrated, because a user asked for that',
  Patched: 'a VM was changed and needs a restart for that, because a user asked for the change',
  Evacuating: 'a VM is migrated or restarted, to leave a node that is drained',
  Evicted: 'a VM was shut down by `drover drain start`, to leave its node',
  MachineTypeChanged: 'the machine type of a VM was changed',
  RequestDone: 'a request about a rollout, healing or the members of a pool was carried out',
  RequestRefused: 'a request about a rollout, healing or the members of a pool was refused, and why',
  Healing: 'an unhealthy VM is being replaced',
  Healed: 'a replaced VM is available again',
  HealingGivenUp: 'a VM was replaced as often as maxAttempts allows, and is still unhealthy',
  HealingRefused: 'an unhealthy VM could not be deleted',
  HealingEnded: 'the healing of a VM has ended otherwise',
  HealingSuspended: 'too many VMs are unhealthy at once: no further VM is replaced',
  HealingResumed: 'VMs are replaced again',
  WaitingForApproval: 'a rollout has come to a step that waits for `drover rollout promote`',
  RolloutCompleted: 'a rollout has brought all VMs that it may to the newest revision',
  RolloutUndone: 'VMs are back at the previous revision',
  RolloutHalted: 'a rollout has halted, or goes back, because too many VMs or the check of a step have failed',
  Missed: 'a schedule has made no operation for one of its times',
  OperationEnded: 'an operation is complete, or a user has aborted it',
  OperationFailed: 'an operation has ended, and not all is done',
  OperationRefused: 'the API server refuses the operation that a schedule is to make',
  InvalidSchedule: 'the cron or the time zone of a schedule is not understood',
  BudgetFull: 'a rollout waits for the disruption budget, which VMs use up that are down for other reasons',
  RolloutStuck: 'a rollout may wait forever for VMs that something else holds',
  DrainStuck: 'VMs may never leave a node that is drained',
  Stalled: 'a pool does not continue before a user corrects something',
  RestartRequired: 'a VM has waited for a restart for a minute, for a change that KubeVirt cannot apply while it runs',
} as const satisfies Record<string, string>;

export type EventReason = keyof typeof EVENT_REASONS;
