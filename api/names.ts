/** The words that drover writes into a cluster. Everything else refers to them from here. */

export const GROUP = 'drover.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/**
 * On a VM and on its VMI template: the pool it belongs to (for people and for an HPA's selector; ownership is by owner
 * UID).
 */
export const POOL_LABEL = `${GROUP}/pool`;
/** On a VM and on its VMI template: hash of the pool template that it was made from. */
export const REVISION_LABEL = `${GROUP}/revision`;
/** On a pool: drover takes its VMs down before the pool itself goes. */
export const POOL_FINALIZER = `${GROUP}/pool`;
/** On a VM that is leaving its pool with its disks kept: it is halted first and deleted once its VMI is gone. */
export const REMOVING_ANNOTATION = `${GROUP}/removing`;
/** Its value where the VM is sick, and the next one takes its disks at once. */
export const REMOVING_TO_HEAL = 'healing';

/**
 * On a claim whose VM has left its pool without it: the pool's UID, as a label, and what is known of the disk
 * (`KeptDisk`, in JSON), as an annotation.
 */
export const KEPT_DISK = `${GROUP}/kept-disk`;
/** On a VM that is deleted without its disks: it goes once they are no longer its own. */
export const DISKS_FINALIZER = `${GROUP}/keep-disks`;

/** On a VM: with the value "true", no update and no healing may touch it. */
export const DO_NOT_DISRUPT_ANNOTATION = `${GROUP}/do-not-disrupt`;
/**
 * On a VM that its pool made while it heals, until it has run well: empty, or the UID of the newest of its guests'
 * VMIs, as long as it is certain that no guest of it ever ran. A VM without it holds data.
 */
export const NOT_YET_RUN_ANNOTATION = `${GROUP}/not-yet-run`;
/**
 * In a template's `spec.template.metadata.annotations`: a new time there is a wish to restart every VM, as `drover
 * rollout restart` makes it.
 */
export const RESTARTED_AT_ANNOTATION = `${GROUP}/restarted-at`;
/** On a pool, and on the ControllerRevision made of its template: who asked for the change, as `drover` writes it. */
export const ASKED_BY_ANNOTATION = `${GROUP}/asked-by`;
/** Kubernetes' own: why a change was made, as people write it. */
export const CHANGE_CAUSE_ANNOTATION = 'kubernetes.io/change-cause';

/**
 * On a VM of any owner: the machine type transition, by its id, that has changed its type and waits for its restart.
 * Cleared when that is done.
 */
export const MACHINE_TYPE_RESTART_LABEL = `${GROUP}/machine-type-restart-required`;
/** On a VM, and on a pool: what the last machine type transition has changed, in JSON (`TransitionRecord`). */
export const MACHINE_TYPE_TRANSITION_ANNOTATION = `${GROUP}/machine-type-transition`;

/** Kubernetes' own finalizer on an object that was deleted with `--cascade=orphan`. */
export const ORPHAN_FINALIZER = 'orphan';

/** Field manager of server-side applies and of the `managedFields` that drover leaves. */
export const FIELD_MANAGER = 'drover';
/** `reportingComponent` of the Events that drover writes. */
export const EVENT_REPORTER = 'drover.dev/worker';
/** Which release of drover a custom resource definition is of. */
export const RELEASE_ANNOTATION = `${GROUP}/release`;
