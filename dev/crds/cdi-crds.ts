import type { KubeObject } from '../../api/objects.ts';
import { kubevirtCrds } from './kubevirt-crds.ts';

const GROUP = 'cdi.kubevirt.io';

/**
 * CDI kinds that KubeVirt's controllers watch as soon as the DataVolume CRD exists. They wait until all can be listed.
 */
const WATCHED = [
  { kind: 'DataSource', scope: 'Namespaced' },
  { kind: 'CDI', scope: 'Cluster' },
  { kind: 'CDIConfig', scope: 'Cluster' },
  { kind: 'StorageProfile', scope: 'Cluster' },
];

/** Returns drover's own CRDs of CDI's kinds, for a cluster with KubeVirt but without CDI. */
export const cdiCrds = (): KubeObject[] => [
  ...kubevirtCrds().filter(({ metadata }) => metadata.name.endsWith(`.${GROUP}`)),
  ...WATCHED.map(({ kind, scope }) => {
    const singular = kind.toLowerCase();
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${singular}s.${GROUP}` },
      spec: {
        group: GROUP,
        scope,
        names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` },
        versions: [
          {
            name: 'v1beta1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            subresources: { status: {} },
          },
        ],
      },
    };
  }),
];
