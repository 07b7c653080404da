import {
  EVICTION_SOURCE_ANNOTATION,
  POD_REVISION_ANNOTATION,
  REVISION_LABEL,
} from '../../api/labels-and-annotations.ts';
import { controllerOf, type Condition, type KubeObject, type ObjectMeta, type Stored } from '../../api/objects.ts';
import { isOwnerReferenceTo } from '../../api/owner-references.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { isPausedOnRequest } from '../disruption/pause.ts';
import { later } from '../lib/earlier-and-later.ts';
import { isObject } from '../lib/json.ts';
import { timeOf } from '../lib/time.ts';
import { placementOf } from '../template/placement.ts';
import { claimsOf } from '../template/used-disks.ts';
import { formerMemberOf } from '../views/annotations/former-member.ts';
import type { Pause } from '../views/operation.ts';
import { ownerOf } from '../views/owner-kind.ts';
import type { VmiView } from '../views/vmi.ts';
import { blockingFinalizers } from './blocking-finalizers.ts';
import { intern, internOrNull } from './intern.ts';
import { vmiOperations, type VmiOperationFields } from './operations.ts';

type Quantity = string | number;

/** KubeVirt's `DefaultGracePeriodSeconds` (`api/core/v1/types.go`). */
const GRACE_SECONDS = 30;

/** The fields of KubeVirt's VirtualMachineInstance that drover reads. */
export interface VirtualMachineInstance extends KubeObject {
  spec?: {
    domain?: {
      machine?: { type?: string };
      cpu?: { sockets?: number; maxSockets?: number };
      memory?: { guest?: Quantity; maxGuest?: Quantity };
      devices?: { interfaces?: { name?: string; state?: string }[] };
    };
    volumes?: { name?: string }[];
    evictionStrategy?: string;
    terminationGracePeriodSeconds?: number;
    nodeSelector?: Record<string, string>;
    livenessProbe?: {
      initialDelaySeconds?: number;
      periodSeconds?: number;
      timeoutSeconds?: number;
      failureThreshold?: number;
    };
    affinity?: unknown;
    tolerations?: unknown;
  };
  status?: VmiOperationFields & {
    phase?: string;
    reason?: string;
    nodeName?: string;
    virtualMachineRevisionName?: string;
    evacuationNodeName?: string;
    /** The node of each pod, by its UID. */
    activePods?: Record<string, string>;
    phaseTransitionTimestamps?: { phase?: string; phaseTransitionTimestamp?: string }[];
    machine?: { type?: string };
    currentCPUTopology?: { sockets?: number };
    memory?: { guestAtBoot?: Quantity; guestCurrent?: Quantity };
    migrationState?: {
      completed?: boolean;
      failed?: boolean;
      failureReason?: string;
      endTimestamp?: string | null;
    };
    interfaces?: { name?: string; infoSource?: string }[];
  };
}

// oxlint-disable-next-line eslint/complexity -- a list of fields, of which most may be absent: nothing is decided
export function vmiView(vmi: Stored<VirtualMachineInstance>): VmiView {
  const { metadata, spec, status } = vmi;
  const { cpu, memory } = spec?.domain ?? {};
  const conditions = status?.conditions ?? [];
  const owner = controllerOf(vmi);
  const isOfVm = owner !== undefined && isOwnerReferenceTo(owner, VirtualMachines);
  const ready = find(conditions, 'Ready');
  // KubeVirt leaves out an unknown time, or writes null.
  const since = timeOf(ready?.lastTransitionTime);
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    vmUid: isOfVm ? owner.uid : null,
    createdAt: Date.parse(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    deletingSince: metadata.deletionTimestamp === undefined ? null : Date.parse(metadata.deletionTimestamp),
    blockedBy: blockingFinalizers(metadata),
    graceMs: (spec?.terminationGracePeriodSeconds ?? GRACE_SECONDS) * 1000,
    phase: status?.phase ?? '',
    phaseSince: sincePhase(status, status?.phase ?? ''),
    ready: ready?.status === 'True',
    // KubeVirt takes over since when the pod is ready, which may be long before its guest runs.
    readySince: ready?.status === 'True' ? later(since, sincePhase(status, 'Running')) : since,
    scheduledAt: sincePhase(status, 'Scheduled'),
    runningSince: sincePhase(status, 'Running'),
    endedAt: sincePhase(status, 'Failed') ?? sincePhase(status, 'Succeeded'),
    probationMs: probationOf(spec?.livenessProbe),
    revision: metadata.labels?.[REVISION_LABEL] ?? formerMemberOf(metadata.annotations)?.revision ?? null,
    startGeneration: isOfVm ? startGenerationOf(status?.virtualMachineRevisionName, owner.uid) : null,
    pod: podOf(status),
    podRevision: podRevisionOf(metadata.annotations?.[POD_REVISION_ANNOTATION], podOf(status)),
    pause: pauseOf(conditions),
    operations: vmiOperations(status),
    // Known from migrations, not the VMI: `ClusterCache.withSurroundings` fills it in.
    migration: null,
    migratedAt: timeOf(status?.migrationState?.endTimestamp),
    migratable: find(conditions, 'LiveMigratable')?.status === 'True',
    whyNotMigratable: whyNotMigratable(conditions),
    evictionStrategy: internOrNull(spec?.evictionStrategy),
    evacuationNode: internOrNull(status?.evacuationNodeName),
    // Known from migrations, not the VMI: `ClusterCache.withSurroundings` fills it in.
    evacuation: null,
    node: status?.nodeName ?? null,
    podNode:
      status?.nodeName === undefined ? internOrNull(Object.values(status?.activePods ?? {})[0] || undefined) : null,
    podNodeCordoned: false,
    toleratesCordons: toleratesCordons(spec?.tolerations),
    wishedBy: wishedBy(metadata),
    launcherOutdated: metadata.labels?.[OUTDATED_LABEL] !== undefined,
    // Known from the node, not the VMI: `ClusterCache.withSurroundings` fills these in.
    nodeDrained: false,
    whyNoOtherNode: null,
    nodeLost: false,
    nodeSince: null,
    machineType: internOrNull(status?.machine?.type),
    specMachineType: internOrNull(spec?.domain?.machine?.type),
    cpu: {
      sockets: cpu?.sockets ?? null,
      maxSockets: cpu?.maxSockets ?? null,
      current: status?.currentCPUTopology?.sockets ?? null,
    },
    memory: {
      guest: text(memory?.guest),
      maxGuest: text(memory?.maxGuest),
      atBoot: text(status?.memory?.guestAtBoot),
      current: text(status?.memory?.guestCurrent),
    },
    placement: placementOf(spec),
    disks: claimsOf(spec?.volumes),
    plugged: pluggedOf(vmi),
    plugging: pluggingOf(conditions, status?.migrationState),
    podTerminating: ready?.reason === 'PodTerminating' && ready.status === 'False',
    standalone: isOfVm ? null : { owner: ownerOf(owner), labels: metadata.labels ?? {} },
    whyNotReady: ready?.status === 'True' ? null : whyNotReady(conditions, status?.reason),
  };
}

/** KubeVirt's label of a VMI that runs in a pod of an earlier KubeVirt: its update evicts such VMIs if it may. */
const OUTDATED_LABEL = 'kubevirt.io/outdatedLauncherImage';

function wishedBy({ annotations, labels }: ObjectMeta): VmiView['wishedBy'] {
  if (annotations?.[EVICTION_SOURCE_ANNOTATION] === 'descheduler') return 'Descheduler';
  return labels?.[OUTDATED_LABEL] === undefined ? null : 'KubeVirtUpdate';
}

const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** As the scheduler judges it: a key, a value or an effect that is left out stands for any. */
const toleratesCordons = (tolerations: unknown): boolean =>
  Array.isArray(tolerations) &&
  tolerations.some((one: unknown) => {
    if (!isObject(one)) return false;
    const { key = '', operator = 'Equal', value = '', effect = '' } = one;
    const isOfEffect = effect === '' || effect === CORDON.effect;
    return (
      isOfEffect && (operator === 'Exists' ? key === '' || key === CORDON.key : key === CORDON.key && value === '')
    );
  });

const sincePhase = (status: VirtualMachineInstance['status'], phase: string): number | null =>
  timeOf(status?.phaseTransitionTimestamps?.findLast((one) => one.phase === phase)?.phaseTransitionTimestamp);

/**
 * Twice the time until a VMI whose probe fails from the start is stopped, with KubeVirt's defaults, in milliseconds;
 * null without a probe.
 */
function probationOf(probe: NonNullable<VirtualMachineInstance['spec']>['livenessProbe']): number | null {
  if (probe === undefined) return null;
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 } = probe;
  return 2 * 1000 * (initialDelaySeconds + (periodSeconds + timeoutSeconds) * failureThreshold);
}

/** All VMIs that are paused for one reason share it. */
function pauseOf(conditions: Condition[]): Pause | null {
  const { status, reason = '', message = '' } = find(conditions, 'Paused') ?? {};
  return status === 'True' ? { reason: intern(reason), message: intern(message) } : null;
}

function whyNotMigratable(conditions: Condition[]): string | null {
  const { status, reason, message } = find(conditions, 'LiveMigratable') ?? {};
  return status === 'False' ? internOrNull(message || reason) : null;
}

/**
 * Conditions of a VM or VMI that say why it is not ready if they are false. Those that name a cause come first: a false
 * Ready says little more than that it is not.
 */
const NOT_READY_CONDITIONS = ['Synchronized', 'PodScheduled', 'Provisioning', 'DataVolumesReady', 'Ready'];

/** KubeVirt's reason of `Ready` while a VM has no VMI, which says nothing of why. */
const NO_VMI = 'VMINotExists';

/** Returns KubeVirt's own words for why a VM or VMI with these conditions, and this reason, is not ready. */
export function whyNotReady(conditions: Condition[] = [], reason?: string): string | null {
  const pause = pauseOf(conditions);
  if (pause !== null && !isPausedOnRequest({ pause }))
    return pause.message === '' ? pause.reason : `${pause.reason}: ${pause.message}`;
  for (const type of NOT_READY_CONDITIONS) {
    const condition = find(conditions, type);
    const explanation = condition?.message || condition?.reason;
    if (condition?.status === 'False' && condition.reason !== NO_VMI && explanation) return explanation;
  }
  return reason || null;
}

/** KubeVirt tells the UIDs of all its pods that are there, with their nodes: two while it migrates. */
function podOf(status: VirtualMachineInstance['status']): string | null {
  const { nodeName, activePods = {} } = status ?? {};
  const [uid, ...others] = Object.keys(activePods).filter((one) => activePods[one] === nodeName);
  return uid !== undefined && others.length === 0 ? uid : (nodeName ?? null);
}

function podRevisionOf(text: string | undefined, pod: string | null): string | null {
  const [revision, of] = text?.split('@') ?? [];
  return revision !== undefined && of !== undefined && of === pod ? intern(revision) : null;
}

const NOTHING: VmiView['plugged'] = { interfaces: [], volumes: [] };

/**
 * virt-handler tells which interfaces the guest has, by its domain, and virt-controller how far a volume is that is
 * plugged in. Until they report any, a VMI has what it was started with.
 */
function pluggedOf({ spec, status }: VirtualMachineInstance): VmiView['plugged'] {
  const nics = status?.interfaces
    ? status.interfaces.filter(({ infoSource }) => infoSource?.split(', ').includes('domain'))
    : (spec?.domain?.devices?.interfaces ?? []).filter(({ state }) => state !== 'absent');
  const statuses = status?.volumeStatus;
  const volumes = (spec?.volumes ?? []).filter(({ name }) => {
    const one = statuses?.find((status) => status.name === name);
    return statuses === undefined || (one !== undefined && (one.hotplugVolume === undefined || one.phase === 'Ready'));
  });
  return nics.length + volumes.length === 0 ? NOTHING : { interfaces: names(nics), volumes: names(volumes) };
}

const names = (all: readonly { name?: string }[]): string[] => all.flatMap(({ name }) => internOrNull(name) ?? []);

const PLUGGING = ['HotVCPUChange', 'HotMemoryChange', 'MigrationRequired'];

function pluggingOf(
  conditions: Condition[],
  migration: NonNullable<VirtualMachineInstance['status']>['migrationState'],
): string | null {
  const pending = conditions.filter(({ type }) => PLUGGING.includes(type));
  if (pending.length === 0) return null;
  const parts = pending.map(({ type, reason, message }) => [type, message || reason].filter(Boolean).join(': '));
  const failed = migration?.failed === true ? [`its last migration failed: ${migration.failureReason ?? ''}`] : [];
  return intern([...parts, ...failed].join('; '));
}

const find = (conditions: Condition[], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type);

const text = (quantity: Quantity | undefined): string | null => (quantity === undefined ? null : String(quantity));

/** The name of KubeVirt's copy of a VM's spec from which it started the VMI: the UID of the VM, and its generation. */
const START_REVISION = /^revision-start-vm-(.+)-(\d+)$/;

/** A VMI that was left behind by an earlier VM of its name, and is this one's now, was started from that one's spec. */
function startGenerationOf(name: string | undefined, vmUid: string): number | null {
  const [, of, generation] = START_REVISION.exec(name ?? '') ?? [];
  return of === vmUid ? Number(generation) : null;
}
