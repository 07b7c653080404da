import type * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { ClusterVirtualMachineDisruptionBudget, VirtualMachineDisruptionBudget } from '../budgets/budget.ts';
import { RELEASE_ANNOTATION } from '../labels-and-annotations.ts';
import { ClusterVirtualMachineOperation, VirtualMachineOperation } from '../operations/operation.ts';
import { VirtualMachinePool } from '../pool/pool.ts';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../replica-set/replica-set.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  type Resource,
} from '../resources.ts';
import { VirtualMachineOperationSchedule } from '../schedules/schedule.ts';
import type { CustomResourceDefinition, CustomResourceVersion, PrinterColumn } from './definition.ts';
import { structuralSchema, type StructuralSchema } from './structural-schema.ts';

/** The CRDs that `drover setup` installs. */
export const droverCrds = (): CustomResourceDefinition[] => [
  poolCrd(),
  replicaSetCrd(),
  vmiSetCrd(),
  operationCrd({
    resource: VirtualMachineOperations,
    shortNames: ['vmop', 'vmops'],
    description: 'Something that is done once to VMs of any owner, a few at a time: a restart, a start, a stop.',
    schema: VirtualMachineOperation,
  }),
  operationCrd({
    resource: ClusterVirtualMachineOperations,
    shortNames: ['cvmop', 'cvmops'],
    description:
      'Something that is done once to VMs of several namespaces, or of all, with one limit over all of them.',
    schema: ClusterVirtualMachineOperation,
  }),
  scheduleCrd(),
  budgetCrd({
    resource: VirtualMachineDisruptionBudgets,
    shortNames: ['vmdb', 'vmdbs'],
    description: 'How many VMs of a namespace drover may disrupt at once, whatever owns them and whatever for.',
    schema: VirtualMachineDisruptionBudget,
  }),
  budgetCrd({
    resource: ClusterVirtualMachineDisruptionBudgets,
    shortNames: ['cvmdb', 'cvmdbs'],
    description: 'How many VMs of several namespaces, or of all, drover may disrupt at once.',
    schema: ClusterVirtualMachineDisruptionBudget,
  }),
];

/** Has Argo CD, Flux and Helm leave the definitions, and so all pools, when drover is taken out of what they apply. */
const KEPT = {
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'helm.sh/resource-policy': 'keep',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
};

const column = (
  name: string,
  jsonPath: string,
  description: string,
  type: PrinterColumn['type'] = 'string',
): PrinterColumn => ({
  name,
  type,
  jsonPath,
  description,
});
const countColumn = (name: string, jsonPath: string, description: string): PrinterColumn =>
  column(name, jsonPath, description, 'integer');
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const stateColumn = (name: string, description: string): PrinterColumn =>
  column(name, '.status.conditions[?(@.type=="Progressing")].reason', description);

/** Columns of the counts that owners of all kinds have, in the order of `kubectl get`. */
const countColumns = (what: string, { members, current, ready }: ColumnTexts) => ({
  desired: countColumn('Desired', '.spec.replicas', `${members} that the ${what} should have.`),
  current: countColumn('Current', '.status.replicas', current),
  ready: countColumn('Ready', '.status.readyReplicas', ready),
  available: countColumn(
    'Available',
    '.status.availableReplicas',
    `${members} that have been ready for minReadySeconds.`,
  ),
});

interface ColumnTexts {
  members: 'VMs' | 'VMIs';
  /** Which of them are counted. */
  current: string;
  ready: string;
}

const VMS: ColumnTexts = { members: 'VMs', current: 'VMs that it has.', ready: 'VMs whose VMIs are ready.' };
const VMIS: ColumnTexts = { members: 'VMIs', current: 'VMIs that run or start.', ready: 'VMIs that are ready.' };

function poolCrd(): CustomResourceDefinition {
  const what = 'pool';
  const { desired, current, ready, available } = countColumns(what, VMS);
  const updated = countColumn('Updated', '.status.updatedReplicas', 'VMs that carry the newest revision.');
  const rollout = stateColumn('Rollout', 'The state of the newest rollout.');
  const paused = column(
    'Paused',
    '.status.conditions[?(@.type=="Paused")].status',
    'Whether updates are paused, by a user or by spec.paused.',
  );
  const standby = {
    ...countColumn('Standby', '.status.readyStandbyReplicas', 'Standby VMs that are ready to become replicas.'),
    priority: 1,
  };
  return replicated({
    resource: VirtualMachinePools,
    what,
    // KubeVirt's own pools have the short name vmpool.
    shortNames: ['dpool', 'dpools'],
    description: 'A pool of identical VirtualMachines, which drover scales, updates and heals.',
    schema: VirtualMachinePool,
    columns: [desired, current, ready, updated, available, rollout, paused, standby, AGE],
  });
}

const replicaSetCrd = (): CustomResourceDefinition =>
  setCrd(VMS, {
    resource: VirtualMachineReplicaSets,
    // KubeVirt's sets of instances have the short name vmirs.
    shortNames: ['vmrs'],
    description: 'A number of identical, stateless VirtualMachines, which is never exceeded.',
    schema: VirtualMachineReplicaSet,
  });

const vmiSetCrd = (): CustomResourceDefinition =>
  setCrd(VMIS, {
    resource: VirtualMachineInstanceReplicaSets,
    // KubeVirt's own sets of this kind have the short names vmirs and vmirss.
    shortNames: ['dvmirs'],
    description:
      'A number of identical VirtualMachineInstances: an instance that ends or leaves is replaced immediately.',
    schema: VirtualMachineInstanceReplicaSet,
  });

function setCrd(texts: ColumnTexts, crd: Omit<Replicated, 'what' | 'columns'>): CustomResourceDefinition {
  const what = 'set';
  return replicated({ ...crd, what, columns: [...Object.values(countColumns(what, texts)), AGE] });
}

const OPERATION_COLUMNS: PrinterColumn[] = [
  column('Action', '.spec.action', 'What is done to the VMs.'),
  stateColumn('State', 'Its state, or how it ended.'),
  countColumn('VMs', '.status.vms.chosen', 'VMs in its scope.'),
  countColumn('Done', '.status.vms.done', 'VMs that are done.'),
  countColumn('Failed', '.status.vms.failed', 'VMs that have failed.'),
  countColumn('Open', '.status.vms.open', 'VMs that are still to be done.'),
  column('By', '.spec.requestedBy', 'Who requested it.'),
  AGE,
  { ...column('Reason', '.spec.reason', 'Why.'), priority: 1 },
];

const operationCrd = (crd: Omit<Replicated, 'what' | 'columns'>): CustomResourceDefinition =>
  withStatus({
    ...crd,
    what: 'operation',
    columns: OPERATION_COLUMNS,
  });

const scheduleCrd = (): CustomResourceDefinition =>
  withStatus({
    resource: VirtualMachineOperationSchedules,
    what: 'schedule',
    shortNames: ['vmopschedule', 'vmopschedules'],
    description: 'An operation on VMs that is created repeatedly, on a cron schedule.',
    schema: VirtualMachineOperationSchedule,
    columns: [
      column('Action', '.spec.operationTemplate.spec.action', 'What is done to the VMs.'),
      column('Schedule', '.spec.schedule', 'When.'),
      column('TimeZone', '.spec.timeZone', 'The time zone; UTC if none is given.'),
      column('Suspend', '.spec.suspend', 'Whether no operation is made.', 'boolean'),
      column('State', '.status.conditions[?(@.type=="Ready")].reason', 'Its state.'),
      column('Last', '.status.lastScheduleTime', 'The time for which the last operation was made.', 'date'),
      column('Next', '.status.nextScheduleTime', 'The time of the next operation.'),
      column('Succeeded', '.status.conditions[?(@.type=="Succeeded")].status', 'Whether the last one was completed.'),
      AGE,
    ],
  });

const BUDGET_COLUMNS: PrinterColumn[] = [
  countColumn('Allowed', '.status.disruptionsAllowed', 'How many more VMs may go down now.'),
  countColumn('Expected', '.status.expected', 'VMs that should run.'),
  countColumn('Available', '.status.available', 'VMs that are available.'),
  column('Full-Since', '.status.fullSince', 'Since when no more VMs may go down.', 'date'),
  AGE,
  { ...column('Claims', '.status.claims[*].vm', 'VMs that may be disrupted.'), priority: 1 },
  { ...column('Waiting', '.status.waiting[*].reason', 'What waits for room.'), priority: 1 },
];

const budgetCrd = (crd: Omit<Replicated, 'what' | 'columns'>): CustomResourceDefinition =>
  withStatus({
    ...crd,
    what: 'budget',
    columns: BUDGET_COLUMNS,
  });

const withStatus = (crd: Replicated): CustomResourceDefinition =>
  defined({ ...crd, subresources: { status: {} }, unobserved: { observedGeneration: 0 } });

const replicated = (crd: Replicated): CustomResourceDefinition =>
  defined({ ...crd, subresources: { status: {}, scale: SCALE }, unobserved: { observedGeneration: 0, replicas: 0 } });

const SCALE = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.labelSelector',
};

interface Defined extends Replicated {
  subresources: CustomResourceVersion['subresources'];
  /**
   * The status of an object that no worker has looked at yet: of another generation than the object, which is 1 at
   * first. Tools that go by `observedGeneration` would take an object without any status for ready.
   */
  unobserved: object;
}

interface Replicated {
  resource: Resource;
  /** What descriptions call an object of this kind. */
  what: string;
  shortNames: string[];
  description: string;
  schema: z.ZodType;
  columns: PrinterColumn[];
}

const defined = ({
  resource: { group, version, kind, plural, namespaced },
  what,
  shortNames,
  description,
  schema,
  columns,
  subresources,
  unobserved,
}: Defined): CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}`, annotations: { [RELEASE_ANNOTATION]: packageJson.version, ...KEPT } },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames, categories: ['drover'] },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: rootSchema(schema, { what, description, unobserved }) },
        subresources,
        additionalPrinterColumns: columns,
      },
    ],
  },
});

/** The API server supplies the schema of `metadata` itself, and knows `apiVersion` and `kind` from the definition. */
function rootSchema(
  schema: z.ZodType,
  { what, description, unobserved }: Pick<Defined, 'what' | 'description' | 'unobserved'>,
): StructuralSchema {
  const root = structuralSchema(schema);
  const { spec, status } = root.properties ?? {};
  const properties = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    ...(spec && { spec: { description: `The desired state of the ${what}.`, ...spec } }),
    ...(status && {
      status: { description: `The last observed state of the ${what}.`, default: unobserved, ...status },
    }),
  };
  return { ...root, description, properties, required: ['spec'] };
}
