import { DO_NOT_DISRUPT_ANNOTATION, HAS_RUN_ANNOTATION, REMOVING_ANNOTATION, REVISION_LABEL } from '../api/names.ts';
import { placementOf } from '../decisions/live-update.ts';
import type { VmView } from '../decisions/vm.ts';
import { controllerOf, type Condition, type KubeObject, type Stored } from '../kubernetes/objects.ts';

/** The fields of KubeVirt's VirtualMachine that drover reads. */
export interface VirtualMachine extends KubeObject {
  spec?: {
    running?: boolean;
    runStrategy?: string;
    dataVolumeTemplates?: { metadata?: { name?: string } }[];
    template?: { metadata?: { labels?: Record<string, string> }; spec?: object };
  };
  status?: {
    created?: boolean;
    desiredGeneration?: number;
    ready?: boolean;
    printableStatus?: string;
    startFailure?: { consecutiveFailCount?: number };
    conditions?: Condition[];
    stateChangeRequests?: unknown[];
    snapshotInProgress?: string;
    restoreInProgress?: string;
  };
}

export function vmView(vm: Stored<VirtualMachine>): VmView {
  const { metadata, spec, status } = vm;
  const owner = controllerOf(vm);
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    owner: owner === undefined ? null : { kind: owner.kind, name: owner.name, uid: owner.uid },
    createdAt: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    removing: metadata.annotations?.[REMOVING_ANNOTATION] !== undefined,
    labels: { ...spec?.template?.metadata?.labels, ...metadata.labels },
    revision: metadata.labels?.[REVISION_LABEL] ?? null,
    runStrategy: spec?.runStrategy ?? (spec?.running === true ? 'Always' : 'Halted'),
    placement: placementOf(spec?.template?.spec),
    hasVmi: status?.created ?? false,
    ready: status?.ready ?? false,
    state: status?.printableStatus ?? '',
    startFailures: status?.startFailure?.consecutiveFailCount ?? 0,
    notReadySince: notReadySince(status?.conditions),
    hasRun: metadata.annotations?.[HAS_RUN_ANNOTATION] !== undefined,
    optedOut: metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true',
    restartRequired: restartRequired(status?.conditions),
    changingState: (status?.stateChangeRequests?.length ?? 0) > 0,
    specSeen: (status?.desiredGeneration ?? Infinity) >= (metadata.generation ?? 0),
    snapshotting: Boolean(status?.snapshotInProgress) || Boolean(status?.restoreInProgress),
  };
}

function notReadySince(conditions: Condition[] = []): number | null {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const since = ready === undefined || ready.status === 'True' ? NaN : Date.parse(ready.lastTransitionTime ?? '');
  return Number.isNaN(since) ? null : since;
}

function restartRequired(conditions: Condition[] = []): VmView['restartRequired'] {
  const condition = conditions.find(({ type, status }) => type === 'RestartRequired' && status === 'True');
  if (condition === undefined) return null;
  const since = Date.parse(condition.lastTransitionTime ?? '');
  return { since: Number.isNaN(since) ? null : since, why: condition.message ?? '' };
}
