import {
  DISKS_FINALIZER,
  JOINED_ANNOTATION,
  NOT_YET_RUN_ANNOTATION,
  MACHINE_TYPE_RESTART_LABEL,
  POOL_LABEL,
  REMOVING_ANNOTATION,
  REVISION_LABEL,
  STANDBY_ANNOTATION,
} from '../../api/labels-and-annotations.ts';
import { controllerOf, type Condition, type KubeObject, type ObjectMeta, type Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { Json } from '../lib/json.ts';
import { timeOf } from '../lib/time.ts';
import { disksOf } from '../template/used-disks.ts';
import { isCorrectionRequested } from '../views/annotations/correction-order.ts';
import { formerMemberOf } from '../views/annotations/former-member.ts';
import { isMadeAgain, memberOf } from '../views/annotations/member-of.ts';
import { powerRecordOf } from '../views/annotations/power-record.ts';
import { protectionsOf } from '../views/annotations/protection.ts';
import { recordedChanges } from '../views/annotations/recorded-change.ts';
import { recordOf } from '../views/annotations/transition-record.ts';
import { kindOf, ownerOf } from '../views/owner-kind.ts';
import { roleOf, type VmView } from '../views/vm.ts';
import { blockingFinalizers } from './blocking-finalizers.ts';
import { internParts } from './intern-parts.ts';
import { internOrNull, intern } from './intern.ts';
import { vmOperations, type VmOperationFields } from './operations.ts';
import { annotationsView } from './own-annotations.ts';

/** The fields of KubeVirt's VirtualMachine that drover reads. */
export interface VirtualMachine extends KubeObject {
  spec?: {
    running?: boolean;
    runStrategy?: string;
    dataVolumeTemplates?: { metadata?: { name?: string } }[];
    preference?: { kind?: string; name?: string; revisionName?: string };
    template?: {
      /** Whatever it holds: the API server does not check it in a VM that is being deleted. */
      metadata?: { labels?: Record<string, string> | null } | null;
      spec?: {
        architecture?: string;
        evictionStrategy?: string;
        nodeSelector?: Record<string, string>;
        domain?: { machine?: { type?: string } };
      };
    };
  };
  status?: VmOperationFields & {
    created?: boolean;
    desiredGeneration?: number;
    ready?: boolean;
    printableStatus?: string;
    runStrategy?: string;
    startFailure?: {
      consecutiveFailCount?: number;
      lastFailedVMIUID?: string;
      retryAfterTimestamp?: string | null;
    };
    stateChangeRequests?: unknown[];
    preferenceRef?: { name?: string; controllerRevisionRef?: { name?: string } };
  };
}

// oxlint-disable-next-line eslint/complexity -- a list of fields, of which most may be absent: nothing is decided
export function vmView(vm: Stored<VirtualMachine>): VmView {
  const { metadata, spec, status } = vm;
  const owner = controllerOf(vm);
  const template = spec?.template;
  const ownLabels = metadata.labels ?? {};
  const record = memberOf(metadata);
  const isOfPool = owner !== undefined && kindOf(owner) === VirtualMachinePools.kind;
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    owner: ownerOf(owner),
    role: null,
    roleLabel: roleOf(ownLabels),
    standby: standbyStateOf(metadata.annotations),
    createdAt: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    removing: metadata.annotations?.[REMOVING_ANNOTATION] !== undefined,
    // The mark of a VM that healing replaces is no time.
    leavingSince: timeOf(metadata.deletionTimestamp ?? metadata.annotations?.[REMOVING_ANNOTATION]),
    blockedBy: blockingFinalizers(metadata),
    keepsDisks: metadata.finalizers?.includes(DISKS_FINALIZER) ?? false,
    labels: template?.metadata?.labels ? { ...template.metadata.labels, ...ownLabels } : ownLabels,
    ownLabels,
    annotations: isOfPool ? annotationsView(metadata.annotations) : {},
    spec: isOfPool ? internParts((spec ?? {}) as Json) : null,
    disks: usedDisks(spec),
    revision: specRevision(vm),
    runStrategy: spec?.runStrategy ?? (spec?.running === true ? 'Always' : 'Halted'),
    lastRunStrategy: internOrNull(status?.runStrategy),
    machineType: internOrNull(template?.spec?.domain?.machine?.type),
    nodeSelector: internParts(template?.spec?.nodeSelector ?? {}) ?? {},
    architecture: internOrNull(template?.spec?.architecture),
    preference: preferenceOf(vm),
    transition: recordOf(metadata.annotations),
    transitionLabel: internOrNull(ownLabels[MACHINE_TYPE_RESTART_LABEL]),
    power: powerRecordOf(metadata.annotations),
    changes: recordedChanges(metadata.annotations),
    hasVmi: status?.created ?? false,
    ready: status?.ready ?? false,
    state: status?.printableStatus ?? '',
    failure: failure(status?.conditions),
    startFailures: status?.startFailure?.consecutiveFailCount ?? 0,
    lastFailedVmi: status?.startFailure?.lastFailedVMIUID ?? null,
    notReadySince: notReadySince(status?.conditions),
    notYetRun: notYetRun(metadata.annotations),
    correctionRequested: isCorrectionRequested(metadata.annotations),
    joined: isOfPool && isJoined(owner.name, metadata),
    memberOf: internOrNull(record?.uid),
    madeAgain: record !== null && isMadeAgain(record, Date.parse(metadata.creationTimestamp)),
    ...protectionsOf(metadata),
    restartRequired: restartRequired(status?.conditions),
    changingState: (status?.stateChangeRequests?.length ?? 0) > 0,
    generation: metadata.generation ?? 0,
    generationObserved: (status?.desiredGeneration ?? Infinity) >= (metadata.generation ?? 0),
    operations: vmOperations(status),
  };
}

const NO_DISKS: readonly string[] = [];

function usedDisks(spec: VirtualMachine['spec']): readonly string[] {
  const disks = disksOf(spec);
  return disks.size === 0 ? NO_DISKS : [...disks];
}

/** Until a worker has labelled it, the missing label tells that its owner reference was added by hand. */
const isJoined = (pool: string, { labels, annotations }: ObjectMeta): boolean =>
  annotations?.[JOINED_ANNOTATION] !== undefined || labels?.[POOL_LABEL] !== pool;

/**
 * Returns the revision that the VM's spec is of (`VmView.revision`). KubeVirt's restore in place puts the spec back,
 * with the label in it, and leaves the VM's own labels.
 */
export function specRevision({ metadata, spec }: VirtualMachine): string | null {
  const own = metadata.labels?.[REVISION_LABEL];
  return (
    spec?.template?.metadata?.labels?.[REVISION_LABEL] ?? own ?? formerMemberOf(metadata.annotations)?.revision ?? null
  );
}

const standbyStateOf = (annotations: Record<string, string> = {}): VmView['standby'] => {
  const state = annotations[STANDBY_ANNOTATION];
  return state === 'Stopped' || state === 'Paused' ? state : null;
};

/**
 * The end of the name of KubeVirt's copy of a preference: `-<uid>-<generation>`, after the names of the VM and the
 * preference, and a version.
 */
const COPY = /-([0-9a-f]{8})-[0-9a-f-]{27}-(\d+)$/;

/**
 * Returns `VmView.preference`. The machine type comes from the copy of the preference that KubeVirt made for the VM,
 * not from its current state.
 */
function preferenceOf({ metadata: { namespace }, spec, status }: Stored<VirtualMachine>): string | null {
  const { kind = 'VirtualMachineClusterPreference', name, revisionName } = spec?.preference ?? {};
  if (name === undefined) return null;
  const ref = status?.preferenceRef;
  const copy = revisionName ?? (ref?.name === name ? ref.controllerRevisionRef?.name : undefined);
  const [, uid, generation] = COPY.exec(copy ?? '') ?? [];
  const where = kind.toLowerCase().includes('cluster') ? '' : `${namespace}/`;
  const version = uid === undefined ? copy : `${generation}-${uid}`;
  return intern(`${kind}/${where}${name}${version === undefined ? '' : `@${version}`}`);
}

/**
 * KubeVirt's annotation on a VM that was restored from a snapshot: its disks hold data that its own VMI did not
 * write.
 */
const RESTORED_ANNOTATION = 'restore.kubevirt.io/lastRestoreUID';

const notYetRun = (annotations: Record<string, string> = {}): string | null =>
  annotations[RESTORED_ANNOTATION] === undefined ? (annotations[NOT_YET_RUN_ANNOTATION] ?? null) : null;

function notReadySince(conditions: Condition[] = []): number | null {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? null : timeOf(ready.lastTransitionTime);
}

function failure(conditions: Condition[] = []): string | null {
  const condition = conditions.find(({ type, status }) => type === 'Failure' && status === 'True');
  return condition === undefined ? null : condition.message || condition.reason || null;
}

function restartRequired(conditions: Condition[] = []): VmView['restartRequired'] {
  const condition = conditions.find(({ type, status }) => type === 'RestartRequired' && status === 'True');
  if (condition === undefined) return null;
  return { since: timeOf(condition.lastTransitionTime), message: condition.message ?? '' };
}
