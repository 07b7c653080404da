import type { KubeObject, ObjectMeta, Stored } from '../../api/objects.ts';

/** The parts of KubeVirt's and CDI's objects that the simulator reads or writes; all others pass through unchanged. */

type ConditionStatus = 'True' | 'False' | 'Unknown';

export interface TimedCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
}

export type RunStrategy = 'Always' | 'RerunOnFailure' | 'Once' | 'Manual' | 'Halted' | 'WaitAsReceiver';
export type Phase = 'Pending' | 'Scheduling' | 'Scheduled' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
export type Quantity = string | number;

export interface Volume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  dataVolume?: { name: string };
  [source: string]: unknown;
}

export interface Domain {
  cpu?: { sockets?: number; cores?: number; threads?: number; maxSockets?: number; [field: string]: unknown };
  memory?: { guest?: Quantity; maxGuest?: Quantity; hugepages?: { pageSize?: string }; [field: string]: unknown };
  resources?: { requests?: Record<string, Quantity>; limits?: Record<string, Quantity>; [field: string]: unknown };
  machine?: { type?: string };
  firmware?: { uuid?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export interface VmiSpec {
  evictionStrategy?: string;
  domain: Domain;
  architecture?: string;
  nodeSelector?: Record<string, string>;
  affinity?: unknown;
  tolerations?: unknown;
  terminationGracePeriodSeconds?: number;
  startStrategy?: string;
  volumes?: Volume[];
  [field: string]: unknown;
}

export interface DataVolumeTemplate {
  metadata: Partial<ObjectMeta> & { name: string };
  spec: Record<string, unknown>;
}

export interface StateChangeRequest {
  action: 'Start' | 'Stop';
  data?: Record<string, string>;
  uid?: string;
}

export interface StartFailure {
  consecutiveFailCount?: number;
  lastFailedVMIUID?: string;
  retryAfterTimestamp?: string;
}

export interface VirtualMachineStatus {
  created?: boolean;
  ready?: boolean;
  printableStatus?: string;
  runStrategy?: RunStrategy;
  conditions?: TimedCondition[];
  stateChangeRequests?: StateChangeRequest[];
  startFailure?: StartFailure | null;
  snapshotInProgress?: string;
  restoreInProgress?: string;
  observedGeneration?: number;
  desiredGeneration?: number;
  [field: string]: unknown;
}

export interface VirtualMachine extends KubeObject {
  spec: {
    running?: boolean;
    runStrategy?: RunStrategy;
    template: { metadata?: Partial<ObjectMeta>; spec: VmiSpec };
    dataVolumeTemplates?: DataVolumeTemplate[];
    [field: string]: unknown;
  };
  status?: VirtualMachineStatus;
}

interface PhaseTransition {
  phase: Phase;
  phaseTransitionTimestamp: string;
}

interface MigrationState {
  migrationUid?: string;
  sourceNode?: string;
  targetNode?: string;
  startTimestamp?: string | null;
  endTimestamp?: string | null;
  completed?: boolean;
  failed?: boolean;
  failureReason?: string;
  [field: string]: unknown;
}

export interface VmiStatus {
  phase?: Phase;
  virtualMachineRevisionName?: string;
  reason?: string;
  nodeName?: string;
  evacuationNodeName?: string;
  conditions?: TimedCondition[];
  phaseTransitionTimestamps?: PhaseTransition[];
  machine?: { type?: string };
  currentCPUTopology?: { sockets?: number; cores?: number; threads?: number };
  memory?: { guestAtBoot?: Quantity; guestCurrent?: Quantity; guestRequested?: Quantity };
  migrationState?: MigrationState;
  changedBlockTracking?: {
    backupStatus?: { backupName?: string; completed?: boolean; [field: string]: unknown };
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

export interface VirtualMachineInstance extends KubeObject {
  spec: VmiSpec;
  status?: VmiStatus;
}

export type MigrationPhase =
  | 'Pending'
  | 'Scheduling'
  | 'Scheduled'
  | 'PreparingTarget'
  | 'TargetReady'
  | 'Running'
  | 'Succeeded'
  | 'Failed';

export interface Migration extends KubeObject {
  spec: { vmiName?: string; addedNodeSelector?: Record<string, string> };
  status?: {
    phase?: MigrationPhase;
    phaseTransitionTimestamps?: { phase: MigrationPhase; phaseTransitionTimestamp: string }[];
    conditions?: TimedCondition[];
    [field: string]: unknown;
  };
}

export interface DataVolume extends KubeObject {
  spec: { pvc?: ClaimRequest; storage?: ClaimRequest; [field: string]: unknown };
  status?: { phase?: string; progress?: string; claimName?: string; conditions?: unknown[]; [field: string]: unknown };
}

interface ClaimRequest {
  accessModes?: string[];
  resources?: { requests?: Record<string, Quantity>; limits?: Record<string, Quantity> };
  storageClassName?: string;
  volumeMode?: string;
  [field: string]: unknown;
}

export interface Claim extends KubeObject {
  spec: ClaimRequest & { volumeName?: string };
  status?: { phase?: string; capacity?: Record<string, Quantity>; conditions?: unknown[]; [field: string]: unknown };
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key?: string }[]; [field: string]: unknown };
  status?: { conditions?: NodeCondition[]; [field: string]: unknown };
}

export interface Pod extends KubeObject {
  spec?: { nodeName?: string; [field: string]: unknown };
}

export interface NodeCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface KubeVirt extends KubeObject {
  spec?: {
    configuration?: {
      vmRolloutStrategy?: 'Stage' | 'LiveUpdate' | null;
      machineType?: string;
      evictionStrategy?: string;
      architectureConfiguration?: { defaultArchitecture?: string } & Partial<
        Record<'amd64' | 'arm64' | 's390x', { machineType?: string }>
      >;
      migrations?: {
        parallelMigrationsPerCluster?: number;
        parallelOutboundMigrationsPerNode?: number;
        [field: string]: unknown;
      };
      [field: string]: unknown;
    };
    workloadUpdateStrategy?: { workloadUpdateMethods?: string[]; [field: string]: unknown };
    [field: string]: unknown;
  };
  status?: { phase?: string; [field: string]: unknown };
}

export type Vm = Stored<VirtualMachine>;
export type Vmi = Stored<VirtualMachineInstance>;
