/**
 * Conditions in the status of pools and sets, and their reasons. They are part of the API: scripts wait for them. Each
 * has a description; `docs/pools.md` or `docs/replica-sets.md` names all of them, and a test compares.
 */
export const CONDITION_REASONS = {
  Ready: {
    AsWanted: 'all members are there, available, and as the spec says',
    Starting: 'members are not available yet, or no more',
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
    WaitingForWindow: 'no maintenance window is open',
    Undoing: 'VMs go back to the revision before',
    Deleting: 'the pool is being deleted',
    Complete: 'nothing is left to do',
    OutdatedVms: 'VMs of an older revision are left to their owners',
    OutdatedPods: 'all VMs run the template, but pods lack what only the next start or migration gives them',
    Paused: 'the rollout is paused',
    Undone: 'VMs are back at the revision before',
    UndoFailed: 'VMs could not be brought back',
    UpdateFailed: 'VMs have failed to take the template, or are not ready since',
    Failed: 'too many VMs have failed',
    Aborted: 'a person has ended the rollout',
    ProgressDeadlineExceeded: 'VMs that are down by themselves take up the disruption budget',
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
    Failed: 'too many VMs have failed',
    Undoing: 'too many VMs have failed, and go back',
    Undone: 'too many VMs had failed, and are back',
    UndoFailed: 'VMs could not be brought back',
    NoFailures: '',
  },
  Healing: {
    ReplacingVms: 'VMs are being replaced',
    Waiting: 'VMs are sick and not replaced',
    NothingToHeal: 'no VM is sick',
  },
  HealingSuspended: {
    TooManyUnhealthy: 'more VMs are sick than maxUnhealthy allows',
    PausedByUser: 'by `drover heal pause`',
    NotSuspended: '',
  },
  Overlapping: {
    OverlappingSelectors:
      'the selector of another set of the kind matches its members, or its selector those of the other',
    ControlledByOthers: 'the selector of a set matches VMs that others control',
    NamesTaken: 'others have names that a set would give its VMs',
  },
  Stalled: {
    InvalidTemplate: 'the template is not supported',
    InternalError: 'an error in drover',
  },
  ScaleInBlocked: {
    Protected: 'VMs are protected from scale-in',
    Unmanaged: 'the strategy of the pool leaves scale-in to people',
    NotHalted: 'the strategy of the pool takes only VMs that are halted',
    WaitingForWindow: 'no window for scale-in is open',
    InvalidRemoveAnnotation: 'the annotation that names the VMs to remove is invalid',
  },
  Drifted: {
    Kept: 'people have changed VMs, and that is kept',
    Correcting: 'people have changed VMs, and updates set that right',
  },
  MembershipChanging: {
    Finishing: 'what the pool has begun is finished first',
    TakingOver: 'VMs of a pool of KubeVirt become its own',
    Releasing: 'its VMs go to a pool of KubeVirt',
    Adopting: 'VMs of no owner become its own',
    Detaching: 'VMs leave it, and run on',
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
    Waiting: 'VMs wait for what passes by itself',
    Stuck: 'VMs may wait forever',
  },
  Contended: {
    AnotherInstallation: 'another installation of drover writes the status of the pool, too',
  },
  EvictionsNotLimited: {
    NameTaken: 'the PodDisruptionBudget that the pool would have belongs to something else',
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
    FailedFinalizer: 'the finalizer of a pool or a set could not be added or removed, or its UID noted',
    FailedPromote: 'standby VMs could not become replicas',
    FailedStandby: 'standby VMs could not be created, or brought to their state',
    FailedSurge: 'extra VMs of an update could not be created',
    FailedAdopt: 'VMs that match the selector of a set, or that a backup has brought back, could not become its own',
    FailedRelease: 'VMs that no longer match the selector of a set could not be released',
    FailedStart: 'VMIs of a set end before they have come up',
  },
  HousekeepingFailure: {
    FailedLabel: 'VMs that the pool owns could not be given its labels',
    FailedChangeMembers: 'VMs that somebody wants in the pool, or out of it, could not be moved yet',
    FailedPodDisruptionBudget: 'the PodDisruptionBudget of a pool could not be written',
    FailedKeepReplicas: 'the number of replicas could not be written into a spec that leaves it out',
    FailedSetRoles: 'the labels that tell extra and standby VMs could not be set right',
    FailedRemoveDiskFinalizers: 'VMs that were taken out of the pool could not be let go',
    FailedUnlabel: "VMs that were taken out of the pool could not be rid of the pool's labels",
    FailedAnnotateRuns: 'it could not be noted on VMs whether they have run',
    FailedClearNamedRemovals: 'VMs that have left could not be taken off the list of those to remove',
    FailedUnmarkKeptDisks: 'disks that VMs use again could not be unmarked',
    FailedCreateRevision: 'the template could not be kept as a ControllerRevision',
    FailedDeleteRevisions: 'ControllerRevisions that nothing uses could not be deleted',
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
  SuccessfulAdopt:
    'VMs became the own of a set, whose selector they match, or of a pool, by a command or after a restore',
  FailedAdopt: 'VMs that match the selector of a set, or that a backup has brought back, could not become its own',
  SuccessfulRelease:
    'VMs that no longer match the selector of a set were released, or those of a pool went to KubeVirt',
  FailedRelease: 'VMs that no longer match the selector of a set could not be released',
  SuccessfulPaused: 'a set was paused',
  SuccessfulResumed: 'a set was resumed',
  FailedStart: 'VMIs of a set end before they have come up, and the next are made later',
  SuccessfulDetach:
    'VMs have left their pool: because somebody has asked for that, or they have lost its labels since nobody controls them',
  SuccessfulAttach: "VMs that were made the pool's own by hand have its labels",
  RoleLabelCorrected:
    'somebody had changed the label that says what a VM is in its pool; it follows the status of the pool again',
  SuccessfulHalt: 'VMs that leave with their disks kept were halted',
  FailedHalt: 'VMs that leave with their disks kept could not be halted',
  SuccessfulUpdate: 'VMs were brought to another revision',
  FailedUpdate: 'VMs could not be brought to another revision',
  KeptDisksDeleted: 'kept disks that nothing needs any more were deleted',
  Started: 'a VM was started, because a person asked for that',
  Stopped: 'a VM was stopped, because a person asked for that',
  Restarted: 'a VM was restarted, because a person asked for that',
  Migrating: 'a VM is live-migrated, because a person asked for that',
  Patched: 'a VM was changed, because a person asked for that',
  FailedPodDisruptionBudget: 'the PodDisruptionBudget of a pool could not be written',
  Evacuating: 'a VM is migrated or restarted, to leave a node that is drained',
  MachineTypeChanged: 'the machine type of a VM or of a template was changed',
  RequestDone: 'what a person has asked of a rollout, of healing or of the members of a pool was done',
  RequestRefused: 'what a person has asked of a rollout, of healing or of the members of a pool was refused, and why',
  Healing: 'a sick VM is being replaced',
  Healed: 'a replaced VM is available again',
  HealingGivenUp: 'a VM was replaced as often as maxAttempts allows, and is still sick',
  HealingRefused: 'a sick VM could not be deleted',
  HealingEnded: 'the healing of a VM has ended otherwise',
  HealingSuspended: 'too many VMs are sick at once: no further VM is replaced',
  HealingResumed: 'VMs are replaced again',
} as const satisfies Record<string, string>;

export type EventReason = keyof typeof EVENT_REASONS;
