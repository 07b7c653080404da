/** Structural schemas for CRDs, for the parts of KubeVirt's and CDI's objects that are validated here. */

export type Schema = { [keyword: string]: unknown };

export const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const int32: Schema = { type: 'integer', format: 'int32' };
const int64: Schema = { type: 'integer', format: 'int64' };
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

const selectorRequirement = closed({ key: text, operator: text, values: listOf(text) }, ['key', 'operator']);
export const labelSelector = closed({ matchLabels: texts, matchExpressions: listOf(selectorRequirement) });

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

/** What KubeVirt and CDI, or the simulator in their place, write: kept unchanged. */
export const anyStatus = open();
/** A VM has this one before its controller has seen it. */
export const machineStatus = open({ printableStatus: { ...text, default: 'Stopped' } });

export const migrationSpec = open({ vmiName: text, addedNodeSelector: texts, priority: text });
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
const count: Schema = { ...int32, minimum: 0 };
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
