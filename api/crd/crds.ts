import type * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { GROUP, RELEASE_ANNOTATION, VERSION } from '../names.ts';
import { VirtualMachinePool } from '../pool/pool.ts';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../replica-set/replica-set.ts';
import { structuralSchema, type StructuralSchema } from './structural-schema.ts';

/** The fields of a CustomResourceDefinition (apiextensions.k8s.io/v1) that drover sets. */
export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    group: string;
    scope: 'Namespaced' | 'Cluster';
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames: string[];
      categories: string[];
    };
    versions: CustomResourceVersion[];
  };
  [field: string]: unknown;
}

interface CustomResourceVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema: { openAPIV3Schema: StructuralSchema };
  subresources: {
    status: object;
    scale: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  };
  additionalPrinterColumns: PrinterColumn[];
}

interface PrinterColumn {
  name: string;
  type: 'integer' | 'string' | 'date';
  jsonPath: string;
  description?: string;
  priority?: number;
}

/** The CRDs that `drover setup` installs. */
export const droverCrds = (): CustomResourceDefinition[] => [poolCrd(), replicaSetCrd(), instanceSetCrd()];

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const countColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: 'integer',
  jsonPath,
  description,
});

const poolCrd = (): CustomResourceDefinition =>
  replicated({
    kind: 'VirtualMachinePool',
    plural: 'virtualmachinepools',
    what: 'pool',
    // KubeVirt's own pools have the short name vmpool.
    shortNames: ['dpool', 'dpools'],
    description: 'A pool of VirtualMachines that are alike, kept at a number, updated and healed by drover.',
    schema: VirtualMachinePool,
    columns: [
      countColumn('Desired', '.spec.replicas', 'VMs that the pool should have.'),
      countColumn('Current', '.status.replicas', 'VMs that it has.'),
      countColumn('Ready', '.status.readyReplicas', 'VMs whose VMIs are ready.'),
      countColumn('Updated', '.status.updatedReplicas', 'VMs that carry the newest revision.'),
      countColumn('Available', '.status.availableReplicas', 'VMs that have been ready for minReadySeconds.'),
      {
        name: 'Rollout',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Progressing")].reason',
        description: 'How the newest rollout stands.',
      },
      AGE,
    ],
  });

const replicaSetCrd = (): CustomResourceDefinition =>
  replicated({
    kind: 'VirtualMachineReplicaSet',
    plural: 'virtualmachinereplicasets',
    what: 'set',
    // KubeVirt's sets of instances have the short name vmirs.
    shortNames: ['vmrs'],
    description: 'VirtualMachines that are alike and hold nothing that must last, kept at a number and never above it.',
    schema: VirtualMachineReplicaSet,
    columns: [
      countColumn('Desired', '.spec.replicas', 'VMs that the set should have.'),
      countColumn('Current', '.status.replicas', 'VMs that it has.'),
      countColumn('Ready', '.status.readyReplicas', 'VMs whose VMIs are ready.'),
      countColumn('Available', '.status.availableReplicas', 'VMs that have been ready for minReadySeconds.'),
      AGE,
    ],
  });

const instanceSetCrd = (): CustomResourceDefinition =>
  replicated({
    kind: 'VirtualMachineInstanceReplicaSet',
    plural: 'virtualmachineinstancereplicasets',
    what: 'set',
    // KubeVirt's own sets of this kind have the short names vmirs and vmirss.
    shortNames: ['dvmirs'],
    description:
      'VirtualMachineInstances that are alike, kept at a number: one that ends or leaves is replaced at once.',
    schema: VirtualMachineInstanceReplicaSet,
    columns: [
      countColumn('Desired', '.spec.replicas', 'VMIs that the set should have.'),
      countColumn('Current', '.status.replicas', 'VMIs that run or start.'),
      countColumn('Ready', '.status.readyReplicas', 'VMIs that are ready.'),
      countColumn('Available', '.status.availableReplicas', 'VMIs that have been ready for minReadySeconds.'),
      AGE,
    ],
  });

interface Replicated {
  kind: string;
  plural: string;
  /** What descriptions call an object of this kind. */
  what: string;
  shortNames: string[];
  description: string;
  schema: z.ZodType;
  columns: PrinterColumn[];
}

/** A namespaced kind with the `status` and `scale` subresources. */
const replicated = ({
  kind,
  plural,
  what,
  shortNames,
  description,
  schema,
  columns,
}: Replicated): CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}`, annotations: { [RELEASE_ANNOTATION]: packageJson.version } },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames, categories: ['drover'] },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: rootSchema(schema, what, description) },
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.labelSelector',
          },
        },
        additionalPrinterColumns: columns,
      },
    ],
  },
});

/** The API server supplies the schema of `metadata` itself, and knows `apiVersion` and `kind` from the definition. */
function rootSchema(schema: z.ZodType, what: string, description: string): StructuralSchema {
  const root = structuralSchema(schema);
  const { spec, status } = root.properties ?? {};
  const properties = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    ...(spec && { spec: { description: `What the ${what} should be.`, ...spec } }),
    ...(status && { status: { description: `What the ${what} is, as drover saw it last.`, ...status } }),
  };
  return { ...root, description, properties, required: ['spec'] };
}
