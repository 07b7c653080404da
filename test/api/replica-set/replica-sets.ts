import type {
  VmiSetSpec,
  ReplicaSetSpec,
  VirtualMachineInstanceReplicaSet,
  VirtualMachineReplicaSet,
} from '../../../api/replica-set/replica-set.ts';

/** A small set, for tests of what a set may hold. */
export const bareSet = (spec: Partial<ReplicaSetSpec> = {}): VirtualMachineReplicaSet => ({
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachineReplicaSet',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web', tier: 'front' } },
      spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } },
    },
    ...spec,
  },
});

/** The same of instances. */
export const bareInstanceSet = (spec: Partial<VmiSetSpec> = {}): VirtualMachineInstanceReplicaSet => ({
  ...bareSet(),
  kind: 'VirtualMachineInstanceReplicaSet',
  spec: {
    ...bareSet().spec,
    template: { metadata: { labels: { app: 'web', tier: 'front' } }, spec: { domain: { devices: {} } } },
    ...spec,
  },
});

const NO_MATCH = 'must match the labels of template.metadata: the set would not know its VMs again';
const EMPTY = 'must name at least one label: an empty selector would match every VM of the namespace';
const withSelector = (matchExpressions: object[]): object => bareSet({ selector: { matchExpressions } as never });
const withTemplate = (template: object): object => bareSet({ template: template as never });

/** Sets that are refused, by what is wrong, with a part of the sentence that says so. */
export const REFUSED: Record<string, [set: object, sentence: string]> = {
  'a selector that the template does not match': [bareSet({ selector: { matchLabels: { app: 'other' } } }), NO_MATCH],
  'a label that the template lacks': [bareSet({ selector: { matchLabels: { team: 'shop' } } }), NO_MATCH],
  'a template without labels': [withTemplate({ spec: { runStrategy: 'Always', template: { spec: {} } } }), NO_MATCH],
  'In, of another value': [withSelector([{ key: 'app', operator: 'In', values: ['db'] }]), NO_MATCH],
  'NotIn, of its value': [withSelector([{ key: 'app', operator: 'NotIn', values: ['web'] }]), NO_MATCH],
  'Exists, of a label that is not there': [withSelector([{ key: 'team', operator: 'Exists' }]), NO_MATCH],
  'DoesNotExist, of one that is': [withSelector([{ key: 'app', operator: 'DoesNotExist' }]), NO_MATCH],
  'an empty selector': [bareSet({ selector: {} }), EMPTY],
  'a selector of empty parts': [bareSet({ selector: { matchLabels: {}, matchExpressions: [] } }), EMPTY],
  'two ways to say whether VMs run': [
    withTemplate({
      metadata: { labels: { app: 'web' } },
      spec: { running: true, runStrategy: 'Always', template: { spec: {} } },
    }),
    'must hold either runStrategy or the older running',
  ],
};

/** Sets that are taken. */
export const TAKEN: Record<string, object> = {
  matchLabels: bareSet(),
  'no replicas': bareSet({ replicas: 0, minReadySeconds: 5, paused: true }),
  'all kinds of expressions': withSelector([
    { key: 'app', operator: 'In', values: ['db', 'web'] },
    { key: 'app', operator: 'NotIn', values: ['db'] },
    { key: 'team', operator: 'NotIn', values: ['shop'] },
    { key: 'tier', operator: 'Exists' },
    { key: 'team', operator: 'DoesNotExist' },
  ]),
};

const withVmiSpec = (spec: object): object =>
  bareInstanceSet({ template: { metadata: { labels: { app: 'web' } }, spec } as never });
const OF_VMS = 'is a field of a VirtualMachine, which a VirtualMachineReplicaSet makes';

/** Sets of instances that are refused. */
export const REFUSED_INSTANCES: Record<string, [set: object, sentence: string]> = {
  'a selector that the template does not match': [
    bareInstanceSet({ selector: { matchLabels: { app: 'other' } } }),
    NO_MATCH,
  ],
  'an empty selector': [bareInstanceSet({ selector: {} }), EMPTY],
  'a run strategy': [withVmiSpec({ domain: {}, runStrategy: 'Always' }), OF_VMS],
  'disks of its own': [withVmiSpec({ domain: {}, dataVolumeTemplates: [] }), OF_VMS],
};

/** Sets of instances that are taken. */
export const TAKEN_INSTANCES: Record<string, object> = {
  'a small VMI': bareInstanceSet(),
  'no replicas': bareInstanceSet({ replicas: 0, minReadySeconds: 5, paused: true }),
  probes: withVmiSpec({ domain: { devices: {} }, livenessProbe: { periodSeconds: 5 }, readinessProbe: {} }),
};
