import type { KubeObject } from '../../../api/objects.ts';

interface Variable {
  name: string;
  value?: string | undefined;
  valueFrom?: { fieldRef: object };
}

interface Workload {
  spec: {
    backoffLimit?: number;
    ttlSecondsAfterFinished?: number;
    template: {
      spec: {
        containers: [
          {
            imagePullPolicy?: string;
            ports?: { name: string }[];
            env?: Variable[];
            envFrom?: { configMapRef?: { name: string }; secretRef?: object }[];
          },
        ];
      };
    };
  };
}

const OF_HELM = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
];

const keyOf = ({ kind, metadata: { namespace = '', name } }: KubeObject): string => `${kind} ${namespace}/${name}`;

/**
 * Returns objects by kind and name, as they are alike in what Helm and kustomize install. What one of them does in
 * another way is left out: labels of Helm, definitions and the namespace; variables stand in the pods, and the setup is
 * a hook.
 */
export function comparable(objects: readonly KubeObject[], namespace: string): Map<string, object> {
  const settings = objects.filter(isSettings);
  // Kustomize knows that some kinds are in no namespace, and not of these.
  for (const { apiVersion, metadata } of objects) if (apiVersion!.startsWith('flowcontrol.')) delete metadata.namespace;
  const kept = objects.filter(
    (object) => !isSettings(object) && !['Namespace', 'CustomResourceDefinition'].includes(object.kind!),
  );
  return new Map(kept.map((object) => [keyOf(object), withoutMeans(object, settings, namespace)]));
}

/** Kustomize adds a hash to the names of those that it makes of literals. */
const isSettings = ({ kind, metadata }: KubeObject): boolean =>
  kind === 'ConfigMap' && /^drover-(dashboard-)?settings-/.test(metadata.name);

function withoutMeans(object: KubeObject, settings: readonly KubeObject[], namespace: string): object {
  const one = structuredClone(object);
  for (const label of OF_HELM) delete one.metadata.labels?.[label];
  for (const annotation of Object.keys(one.metadata.annotations ?? {}))
    if (/^(helm\.sh|argocd\.argoproj\.io|kustomize\.toolkit\.fluxcd\.io)\//.test(annotation))
      delete one.metadata.annotations![annotation];
  if (Object.keys(one.metadata.annotations ?? {}).length === 0) delete one.metadata.annotations;
  if (!['Deployment', 'Job'].includes(one.kind!)) return one;
  const { spec } = one as unknown as Workload;
  delete spec.backoffLimit;
  delete spec.ttlSecondsAfterFinished;
  const [container] = spec.template.spec.containers;
  const { env = [], envFrom = [] } = container;
  const given = envFrom.flatMap(({ configMapRef }) => {
    const { data = {} } = (settings.find(({ metadata }) => metadata.name === configMapRef?.name) ?? {}) as {
      data?: Record<string, string>;
    };
    return Object.entries(data).map(([name, value]) => ({ name, value }));
  });
  const here = env.map(({ name, value, valueFrom }) => ({ name, value: valueFrom === undefined ? value : namespace }));
  container.env = [...given, ...here].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  container.envFrom = envFrom.filter(({ secretRef }) => secretRef !== undefined);
  container.ports?.sort((a, b) => (a.name < b.name ? -1 : 1));
  if (container.imagePullPolicy === 'IfNotPresent') delete container.imagePullPolicy;
  return one;
}
