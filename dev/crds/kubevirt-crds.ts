import type { PrinterColumn } from '../../api/crd/definition.ts';
import type { KubeObject } from '../../api/objects.ts';
import * as schema from './kubevirt-schemas.ts';
import type { Schema } from './kubevirt-schemas.ts';

interface Kind {
  group: string;
  /** The first is the storage version. */
  versions: string[];
  kind: string;
  shortNames: string[];
  spec: Schema;
  status?: Schema;
  subresources?: Schema;
  columns: PrinterColumn[];
}

const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const column = (name: string, jsonPath: string, type: PrinterColumn['type'] = 'string'): PrinterColumn => ({
  name,
  type,
  jsonPath,
});
const condition = (type: string): string => `.status.conditions[?(@.type=='${type}')].status`;

const status = { status: {} };
const scale = {
  ...status,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.labelSelector',
  },
};
const replicaColumns = [
  column('Desired', '.spec.replicas', 'integer'),
  column('Current', '.status.replicas', 'integer'),
  column('Ready', '.status.readyReplicas', 'integer'),
  age,
];

const kubevirtIo = { group: 'kubevirt.io', versions: ['v1', 'v1alpha3'] };

const kinds: Kind[] = [
  {
    ...kubevirtIo,
    kind: 'VirtualMachine',
    shortNames: ['vm', 'vms'],
    spec: schema.machineSpec,
    status: schema.machineStatus,
    subresources: status,
    columns: [age, column('Status', '.status.printableStatus'), column('Ready', condition('Ready'))],
  },
  {
    // KubeVirt's VMIs have no status subresource: labels and status change together during a migration.
    ...kubevirtIo,
    kind: 'VirtualMachineInstance',
    shortNames: ['vmi', 'vmis'],
    spec: schema.instanceSpec,
    status: schema.anyStatus,
    columns: [
      age,
      column('Phase', '.status.phase'),
      column('IP', '.status.interfaces[0].ipAddress'),
      column('NodeName', '.status.nodeName'),
      column('Ready', condition('Ready')),
      { ...column('Live-Migratable', condition('LiveMigratable')), priority: 1 },
      { ...column('Paused', condition('Paused')), priority: 1 },
    ],
  },
  {
    ...kubevirtIo,
    kind: 'VirtualMachineInstanceMigration',
    shortNames: ['vmim', 'vmims'],
    spec: schema.migrationSpec,
    status: schema.anyStatus,
    subresources: status,
    columns: [column('Phase', '.status.phase'), column('VMI', '.spec.vmiName')],
  },
  {
    ...kubevirtIo,
    kind: 'VirtualMachineInstanceReplicaSet',
    shortNames: ['vmirs', 'vmirss'],
    spec: schema.replicaSetSpec,
    status: { ...schema.anyStatus, nullable: true },
    subresources: scale,
    columns: replicaColumns,
  },
  {
    group: 'pool.kubevirt.io',
    versions: ['v1beta1', 'v1alpha1'],
    kind: 'VirtualMachinePool',
    shortNames: ['vmpool', 'vmpools'],
    spec: schema.poolSpec,
    status: schema.anyStatus,
    subresources: scale,
    columns: replicaColumns,
  },
  {
    ...kubevirtIo,
    kind: 'KubeVirt',
    shortNames: ['kv', 'kvs'],
    spec: schema.kubevirtSpec,
    status: schema.anyStatus,
    subresources: status,
    columns: [age, column('Phase', '.status.phase')],
  },
  {
    group: 'cdi.kubevirt.io',
    versions: ['v1beta1'],
    kind: 'DataVolume',
    shortNames: ['dv', 'dvs'],
    spec: schema.dataVolumeSpec,
    status: schema.anyStatus,
    subresources: status,
    columns: [column('Phase', '.status.phase'), column('Progress', '.status.progress'), age],
  },
];

/**
 * Returns drover's own CRDs for the KubeVirt and CDI kinds that drover and the simulator use. Deep specs are kept as
 * given.
 */
export const kubevirtCrds = (): KubeObject[] => kinds.map(definition);

function definition({
  group,
  versions,
  kind,
  shortNames,
  spec,
  status: statusSchema,
  subresources,
  columns,
}: Kind): KubeObject {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const properties = {
    apiVersion: schema.text,
    kind: schema.text,
    metadata: { type: 'object' },
    spec,
    ...(statusSchema && { status: statusSchema }),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        plural,
        singular,
        kind,
        listKind: `${kind}List`,
        shortNames,
        categories: ['all'],
      },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: schema.closed(properties, ['spec']) },
        ...(subresources === undefined ? {} : { subresources }),
        additionalPrinterColumns: columns,
      })),
    },
  };
}
