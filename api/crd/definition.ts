import type { Condition, KubeObject } from '../objects.ts';
import type { Resource } from '../resources.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** The fields of a CustomResourceDefinition (apiextensions.k8s.io/v1) that drover sets or reads. */
export interface CustomResourceDefinition extends KubeObject {
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
  status?: { conditions?: Condition[] };
}

export interface CustomResourceVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema: { openAPIV3Schema: StructuralSchema };
  subresources: {
    status: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  };
  additionalPrinterColumns: PrinterColumn[];
}

export interface PrinterColumn {
  name: string;
  type: 'integer' | 'string' | 'date' | 'boolean';
  jsonPath: string;
  description?: string;
  priority?: number;
}

export const isEstablished = ({ status }: Pick<CustomResourceDefinition, 'status'>): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;

/** Returns the kind that is defined, in its stored version if that is served; undefined if no version is. */
export function resourceOf({ spec }: CustomResourceDefinition): Resource | undefined {
  const { group, names, scope, versions } = spec;
  const served = versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined) return undefined;
  return { group, version: version.name, plural: names.plural, kind: names.kind, namespaced: scope === 'Namespaced' };
}

/** The condition by which the API server refuses to serve it, since another definition has its names. */
export const refusedNames = ({ status }: Pick<CustomResourceDefinition, 'status'>) =>
  status?.conditions?.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
