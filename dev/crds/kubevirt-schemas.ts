/** Structural schemas for CRDs, for the parts of KubeVirt's and CDI's objects that are validated here. */

export type Schema = { [keyword: string]: unknown };

export const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const int32: Schema = { type: 'integer', format: 'int32' };
const int64: Schema = { type: 'integer', format: 'int64' };
const time: Schema = { type: 'string', format: 'date-time' };
const texts: Schema = { type: 'object', additionalProperties: text };
const quantity: Schema = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  'x-kubernetes-int-or-string': true,
};
const quantities: Schema = { type: 'object', additionalProperties: quantity };

const listOf = (items: Schema): Schema => ({ type: 'array', items });
export const nullable = (schema: Schema): Schema => ({ ...schema, nullable: true });
/** Allows only these properties; others are pruned. */
export const closed = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});
/** Validates these properties; others are kept unchanged. */
const open = (properties: Record<string, Schema> = {}, required: string[] = []): Schema => ({
  ...closed(properties, required),
  'x-kubernetes-preserve-unknown-fields': true,
});

export const conditions = listOf(
  closed(
    {
      type: text,
      status: text,
      reason: text,
      message: text,
      lastProbeTime: nullable(time),
      lastTransitionTime: nullable(time),
    },
    ['type', 'status'],
  ),
);

const selectorRequirement = closed({ key: text, operator: text, values: listOf(text) }, ['key', 'operator']);
export const labelSelector = closed({ matchLabels: texts, matchExpressions: listOf(selectorRequirement) });
const phaseTransitions = listOf(closed({ phase: text, phaseTransitionTimestamp: time }));

/** The spec of a VMI, and of a VM's template for it. */
export const instanceSpec = open(
  {
    domain: open(
      {
        cpu: open({
          sockets: { type: 'integer' },
          cores: { type: 'integer' },
          threads: { type: 'integer' },
          maxSockets: { type: 'integer' },
        }),
        memory: open({ guest: quantity, maxGuest: quantity }),
        machine: closed({ type: text }),
        firmware: open({ uuid: text, serial: text }),
        resources: open({ requests: quantities, limits: quantities }),
        devices: open(),
      },
      ['devices'],
    ),
    nodeSelector: texts,
    affinity: open(),
    tolerations: listOf(open()),
    terminationGracePeriodSeconds: int64,
    startStrategy: text,
    evictionStrategy: text,
    hostname: text,
    networks: listOf(open({ name: text }, ['name'])),
    volumes: listOf(
      open(
        {
          name: text,
          persistentVolumeClaim: open({ claimName: text }, ['claimName']),
          dataVolume: open({ name: text }, ['name']),
        },
        ['name'],
      ),
    ),
  },
  ['domain'],
);

const template = closed({ metadata: nullable(open()), spec: instanceSpec });

const claimRequest = open({
  accessModes: listOf(text),
  resources: open({ requests: quantities, limits: quantities }),
  storageClassName: text,
  volumeMode: text,
});

export const dataVolumeSpec = open({ source: open(), sourceRef: open(), pvc: claimRequest, storage: claimRequest });

const strategies = "['Always', 'RerunOnFailure', 'Once', 'Manual', 'Halted', 'WaitAsReceiver']";

/** KubeVirt's admission rules for a VM's spec. */
export const machineRules = [
  {
    rule: '!(has(self.running) && has(self.runStrategy))',
    message: 'Running and RunStrategy are mutually exclusive: give runStrategy alone, running is its older form',
  },
  { rule: 'has(self.running) || has(self.runStrategy)', message: 'One of Running or RunStrategy must be specified' },
  {
    rule: `!has(self.runStrategy) || self.runStrategy in ${strategies}`,
    message: `runStrategy must be one of ${strategies.slice(1, -1)}`,
  },
];

export const machineSpec: Schema = {
  ...open(
    {
      running: flag,
      runStrategy: text,
      template,
      dataVolumeTemplates: listOf(
        open(
          { apiVersion: text, kind: text, metadata: nullable(open()), spec: dataVolumeSpec, status: nullable(open()) },
          ['spec'],
        ),
      ),
      instancetype: open(),
      preference: open(),
      updateVolumesStrategy: text,
    },
    ['template'],
  ),
  'x-kubernetes-validations': machineRules,
};

export const machineStatus = open({
  created: flag,
  ready: flag,
  printableStatus: { ...text, default: 'Stopped' },
  runStrategy: text,
  conditions,
  observedGeneration: int64,
  desiredGeneration: int64,
  startFailure: nullable(
    closed({ consecutiveFailCount: { type: 'integer' }, lastFailedVMIUID: text, retryAfterTimestamp: time }),
  ),
  stateChangeRequests: listOf(closed({ action: text, data: texts, uid: text }, ['action'])),
  snapshotInProgress: text,
  restoreInProgress: text,
  volumeSnapshotStatuses: listOf(closed({ name: text, enabled: flag, reason: text }, ['name', 'enabled'])),
});

const migrationState = open({
  migrationUid: text,
  sourceNode: text,
  targetNode: text,
  sourcePod: text,
  targetPod: text,
  startTimestamp: nullable(time),
  endTimestamp: nullable(time),
  completed: flag,
  failed: flag,
  failureReason: text,
  abortRequested: flag,
  abortStatus: text,
  mode: text,
});

export const instanceStatus = open({
  phase: text,
  reason: text,
  nodeName: text,
  conditions,
  phaseTransitionTimestamps: phaseTransitions,
  machine: closed({ type: text }),
  currentCPUTopology: closed({ sockets: int32, cores: int32, threads: int32 }),
  memory: closed({ guestAtBoot: quantity, guestCurrent: quantity, guestRequested: quantity, memoryOverhead: quantity }),
  interfaces: listOf(open({ name: text, ipAddress: text, ipAddresses: listOf(text), mac: text })),
  guestOSInfo: open(),
  migrationState,
  migrationMethod: text,
  activePods: texts,
  virtualMachineRevisionName: text,
  evacuationNodeName: text,
  launcherContainerImageVersion: text,
});

export const migrationSpec = open({ vmiName: text, addedNodeSelector: texts, priority: text });
export const migrationStatus = open({
  phase: text,
  conditions,
  phaseTransitionTimestamps: phaseTransitions,
  migrationState,
});

export const kubevirtSpec = open({
  configuration: open({
    vmRolloutStrategy: nullable({ type: 'string', enum: ['Stage', 'LiveUpdate', null] }),
    machineType: text,
    architectureConfiguration: nullable(open()),
    developerConfiguration: open(),
  }),
  workloadUpdateStrategy: open({
    workloadUpdateMethods: listOf(text),
    batchEvictionSize: { type: 'integer' },
    batchEvictionInterval: text,
  }),
});
export const kubevirtStatus = open({
  phase: text,
  conditions,
  observedGeneration: int64,
  operatorVersion: text,
  observedKubeVirtVersion: text,
  targetKubeVirtVersion: text,
});

const count: Schema = { ...int32, minimum: 0 };
export const replicasStatus = closed({ replicas: int32, readyReplicas: int32, labelSelector: text, conditions });
export const replicaSetSpec = open({ replicas: int32, paused: flag, selector: labelSelector, template }, [
  'selector',
  'template',
]);
export const poolSpec = open(
  {
    replicas: count,
    paused: flag,
    selector: labelSelector,
    virtualMachineTemplate: open({ metadata: nullable(open()), spec: open({ template }) }),
    maxUnavailable: { 'x-kubernetes-int-or-string': true },
    nameGeneration: open({ appendIndexToConfigMapRefs: flag, appendIndexToSecretRefs: flag }),
    updateStrategy: open(),
    scaleInStrategy: open(),
    autohealing: nullable(open()),
  },
  ['selector', 'virtualMachineTemplate'],
);

export const dataVolumeStatus = open({
  phase: text,
  progress: text,
  claimName: text,
  restartCount: int32,
  conditions: listOf(
    closed(
      { type: text, status: text, reason: text, message: text, lastTransitionTime: time, lastHeartbeatTime: time },
      ['type', 'status'],
    ),
  ),
});
