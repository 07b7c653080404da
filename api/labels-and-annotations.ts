/** The names that drover writes into a cluster. All other code refers to them from here. */

export const GROUP = 'drover.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/**
 * On a VM and on its VMI template: the pool that it belongs to (for users and for an HPA's selector; ownership is by
 * owner UID).
 */
export const POOL_LABEL = `${GROUP}/pool`;
/** On a VM and on its VMI template: hash of the pool template that it was made from. */
export const REVISION_LABEL = `${GROUP}/revision`;
/**
 * On a VMI that has got another revision while it ran: the revision that its pod was made from, and which pod that is,
 * as `<revision>@<uid>`, or `<revision>@<node>` if nothing tells the UID.
 */
export const POD_REVISION_ANNOTATION = `${GROUP}/pod-revision`;
/** On a Job that a check of a rollout has made: the pool. */
export const CHECK_LABEL = `${GROUP}/check-of`;
/** On a VM of a pool that is not one of its replicas: what it is for (`MemberRole`). */
export const ROLE_LABEL = `${GROUP}/role`;
/** On a standby VM of a pool: the state that drover has brought the VM to, `Stopped` or `Paused`. */
export const STANDBY_ANNOTATION = `${GROUP}/standby`;
/** On a pool: drover deletes its VMs before the pool itself is deleted. */
export const POOL_FINALIZER = `${GROUP}/pool`;
/** On a replica set: drover deletes its VMs before the set itself is deleted. */
export const REPLICA_SET_FINALIZER = `${GROUP}/replica-set`;
/**
 * On a VM that is leaving its pool with its disks kept: it is halted first, and deleted once its VMI is deleted. The
 * value is the time of that (RFC 3339).
 */
export const REMOVING_ANNOTATION = `${GROUP}/removing`;
/** The annotation's value if the VM is unhealthy, and the next VM takes over its disks at once. */
export const REMOVING_TO_HEAL = 'healing';

/**
 * On a claim that was kept when its VM left the pool: the pool's UID, as a label, and the details of the disk
 * (`KeptDisk`, in JSON), as an annotation.
 */
export const KEPT_DISK = `${GROUP}/kept-disk`;
/** On a VM that is deleted without its disks: removed once it no longer owns them. */
export const DISKS_FINALIZER = `${GROUP}/keep-disks`;

/**
 * On a pool: VMs that users want removed, and no others in their place; the UID of each by its name, in JSON
 * (`NamedVms`).
 */
export const REMOVE_VMS_ANNOTATION = `${GROUP}/remove-vms`;
/** Which VMs of no owner a pool is to adopt: a JSON object with the UID of each by its name. */
export const ADOPT_VMS_ANNOTATION = `${GROUP}/adopt-vms`;
/** On a VM: with any value but "false", scale-in leaves the VM where it is; a time, or a duration, ends that. */
export const PROTECT_ANNOTATION = `${GROUP}/protect-from-scale-in`;
/**
 * KubeVirt's, on a VM: with "true" or "True", an admission policy (of its SSP operator, or of administrators) refuses
 * any deletion of the VM.
 */
export const DELETE_PROTECTION_LABEL = 'kubevirt.io/vm-delete-protection';

/**
 * On a VM: a user has ordered that what it differs in from its template is corrected; who, and when. The
 * correction takes the annotation off in the same write.
 */
export const CORRECT_DRIFT_ANNOTATION = `${GROUP}/correct-drift`;

/** On an operation: the name of the schedule that has made it. */
export const SCHEDULE_LABEL = `${GROUP}/schedule`;
/** On an operation by `drover drain start`: the node that its VMs leave, or a hash of a name that is too long. */
export const DRAIN_LABEL = `${GROUP}/drain`;

/**
 * On a pool: VMs that exist already become its own, or leave it (`MembershipChange`, in JSON). The pool begins nothing
 * until the annotation goes.
 */
export const MEMBERSHIP_CHANGE_ANNOTATION = `${GROUP}/membership-change`;
/**
 * On a VM of a pool: the UID of the pool, and since when the VM is its own (`MemberOf`, in JSON). A backup keeps it,
 * and drops the owner reference.
 */
export const MEMBER_OF_ANNOTATION = `${GROUP}/member-of`;
/**
 * On a pool or a set: its own UID, written when drover first sees it. An object that comes back from a backup has
 * another UID than this.
 */
export const UID_ANNOTATION = `${GROUP}/uid`;
/** On a VM that has left its pool, and on its VMI: what it was there (`FormerMember`, in JSON), in case it returns. */
export const DETACHED_ANNOTATION = `${GROUP}/detached`;
/** On a VM that users have put into its pool, by a command or by hand: it is not the first to leave. */
export const JOINED_ANNOTATION = `${GROUP}/joined`;
/** On a KubeVirt pool that drover has paused: what its spec had before (`PausedPool`, in JSON). */
export const PAUSED_POOL_ANNOTATION = `${GROUP}/paused`;

/** On a VM: with any value but "false", no update and no healing may touch it; a time, or a duration, ends that. */
export const DO_NOT_DISRUPT_ANNOTATION = `${GROUP}/do-not-disrupt`;
/**
 * On a VM that its pool created with autohealing on, until it has run well: empty, or the UID of its newest VMI, as
 * long as it is certain that no VMI of the VM ever ran. A VM without the annotation holds data.
 */
export const NOT_YET_RUN_ANNOTATION = `${GROUP}/never-ran`;
/** On a migration by which drover moves a VM, off its node or into a new pod: the UID of the VMI. */
export const EVACUATION_LABEL = `${GROUP}/evacuation`;
/**
 * On such a migration: how drover's earlier migrations of that VMI ended (`EarlierMigrations`, in JSON). KubeVirt
 * deletes migrations that have ended, except the newest five of any client.
 */
export const EARLIER_MIGRATIONS_ANNOTATION = `${GROUP}/earlier-migrations`;
/** KubeVirt's own, on every migration: the name of the VMI. */
export const MIGRATED_VMI_LABEL = 'kubevirt.io/vmi-name';

/** KubeVirt's own annotation of a VMI: who asked for its eviction, if that was the descheduler (`descheduler`). */
export const EVICTION_SOURCE_ANNOTATION = 'kubevirt.io/eviction-source';
/**
 * In a template's `spec.template.metadata.annotations`: a new time requests a restart of every VM, as `drover rollout
 * restart` writes it.
 */
export const RESTARTED_AT_ANNOTATION = `${GROUP}/restarted-at`;
/** On a pool, and on the ControllerRevision made from its template: who asked for the change, as `drover` writes it. */
export const REQUESTED_BY_ANNOTATION = `${GROUP}/requested-by`;
/**
 * On a pool: what a user asks of its rollout, its healing or its members, in JSON (`RolloutRequest`,
 * `HealingRequest`, `MembershipRequest`), and who that is. Its status answers, and the annotations stay: tools that
 * apply manifests would put them back.
 */
export const ROLLOUT_REQUEST_ANNOTATION = `${GROUP}/rollout-request`;
export const ROLLOUT_REQUESTED_BY_ANNOTATION = `${GROUP}/rollout-requested-by`;
export const HEALING_REQUEST_ANNOTATION = `${GROUP}/healing-request`;
export const HEALING_REQUESTED_BY_ANNOTATION = `${GROUP}/healing-requested-by`;
export const MEMBERSHIP_REQUEST_ANNOTATION = `${GROUP}/membership-request`;
export const MEMBERSHIP_REQUESTED_BY_ANNOTATION = `${GROUP}/membership-requested-by`;
/** Kubernetes' own annotation: why a change was made, as users write it. */
export const CHANGE_CAUSE_ANNOTATION = 'kubernetes.io/change-cause';

/**
 * On a VM of any owner: UID of the operation that has changed its machine type and waits for its restart. Cleared
 * when that is done.
 */
export const MACHINE_TYPE_RESTART_LABEL = `${GROUP}/machine-type-restart-required`;
/** On a VM or a pool: what the last machine type transition has changed, in JSON (`TransitionRecord`). */
export const MACHINE_TYPE_TRANSITION_ANNOTATION = `${GROUP}/machine-type-transition`;

/**
 * On a VM of any owner: which run has last started, stopped or restarted it, and what the VM was like just before, in
 * JSON (`PowerRecord`).
 */
export const POWER_ANNOTATION = `${GROUP}/power`;

/**
 * On a VM of any owner: what operations with `action: Patch` have changed, and what was there before, in JSON
 * (`ChangeRecord`).
 */
export const CHANGES_ANNOTATION = `${GROUP}/changes`;

/** KubeVirt's own, on the VMs of its pools and on their VMIs: the ControllerRevision that they were made from. */
export const KUBEVIRT_REVISION_LABEL = 'kubevirt.io/vm-pool-revision-name';
/** KubeVirt's own, on its pools and on their VMs. */
export const KUBEVIRT_POOL_FINALIZER = 'pool.kubevirt.io/finalizer';

/** Kubernetes' own finalizer on an object deleted with `--cascade=orphan`. */
export const ORPHAN_FINALIZER = 'orphan';

/** Field manager of server-side applies and of the `managedFields` that drover leaves. */
export const FIELD_MANAGER = 'drover';
/** Field manager of what changes who is in a pool; the number of VMs that it wants becomes its own. */
export const MEMBERS_MANAGER = 'drover-members';
/** Field manager of the number of members that a worker writes into a spec that leaves it out. */
export const REPLICAS_MANAGER = 'drover-replicas';
/** Field manager of requests that commands write. */
export const REQUESTS_MANAGER = 'drover-requests';
/** `reportingComponent` of the Events that drover writes. */
export const EVENT_REPORTER = 'drover.dev/worker';
/** `action` of Events that report a state that needs a user, not an act of drover's. */
export const NOTICE_ACTION = 'Notify';
/** On a CustomResourceDefinition: it may be deleted, with all objects of its kind. */
export const CONFIRM_DELETION_ANNOTATION = `${GROUP}/confirm-deletion`;
/** On a CustomResourceDefinition: the release of drover that it comes from. */
export const RELEASE_ANNOTATION = `${GROUP}/release`;
