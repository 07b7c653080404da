import { droverCrds } from '../../../api/crd/crds.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  CustomResourceDefinitions,
  DataVolumes,
  KubeVirts,
  Nodes,
  StorageClasses,
  type Resource,
} from '../../../api/resources.ts';
import { outcomeOf } from '../../../clients/fields/server-side-apply.ts';
import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { installCrds } from '../../../dev/crds/crds.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound } from '../../../kubernetes/errors.ts';
import type { Need } from './given.ts';
import { OWNERS } from './ownership.ts';

const Deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
/** KubeVirt's label of nodes that may run VMIs. */
const SCHEDULABLE = 'kubevirt.io/schedulable';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

type StorageClass = KubeObject & { allowVolumeExpansion?: boolean };
type Deployment = KubeObject & { spec: { replicas?: number } };
type KubeVirt = KubeObject & {
  spec?: { workloadUpdateStrategy?: { workloadUpdateMethods?: string[] } };
  status?: { observedKubeVirtVersion?: string };
};

/** What the tests may rely on. */
export interface Facts {
  kubevirt: string;
  lacks: Need[];
  /** CRDs that the run installed and must remove. */
  installed: string[];
}

/** Throws an error of one sentence if tests could harm what is in the cluster, or prove nothing about it. */
export async function preflight(kube: KubeClient): Promise<Facts> {
  const kubevirt = (await listed<KubeVirt>(kube, KubeVirts))?.[0];
  if (kubevirt === undefined)
    throw new Error(`the cluster at ${kube.server} has no KubeVirt: install it, or run \`npm test\`, which needs none`);
  await refuseWorkers(kube);
  await refusePools(kube);
  const installed = await ensureDefinitions(kube);
  return {
    kubevirt: kubevirt.status?.observedKubeVirtVersion ?? 'of unknown version',
    lacks: await lacksOf(kube, kubevirt),
    installed,
  };
}

async function lacksOf(kube: KubeClient, { spec }: KubeVirt): Promise<Need[]> {
  const lacks: Need[] = [];
  const nodes = (await kube.list<Node>(Nodes)).items;
  if (nodes.every((node) => nodeView(node).machineTypes.length === 0)) lacks.push('machine types on nodes');
  const schedulable = nodes.filter(({ metadata }) => metadata.labels?.[SCHEDULABLE] === 'true').length;
  const migrates = schedulable > 1;
  const updates = spec?.workloadUpdateStrategy?.workloadUpdateMethods?.includes('LiveMigrate') === true;
  if (!migrates) lacks.push('live migration');
  if (schedulable < 3) lacks.push('three nodes that take VMs');
  if (!migrates || !updates) lacks.push('live updates');
  if (updates) lacks.push('VMIs that stay in outdated pods');
  if ((await listed(kube, DataVolumes)) === undefined) lacks.push('DataVolumes');
  const classes = (await kube.list<StorageClass>(StorageClasses)).items;
  const expands = classes.some(
    ({ metadata, allowVolumeExpansion }) =>
      metadata.annotations?.[DEFAULT_CLASS] === 'true' && allowVolumeExpansion === true,
  );
  if (!expands) lacks.push('a default storage class that expands');
  return lacks;
}

async function refuseWorkers(kube: KubeClient): Promise<void> {
  const { items } = await kube.list<Deployment>(Deployments, { labelSelector: 'app.kubernetes.io/name=drover' });
  const running = items.find(({ spec }) => spec.replicas !== 0);
  if (running === undefined) return;
  const { namespace, name } = running.metadata;
  throw new Error(
    `a drover worker runs in the cluster (Deployment ${namespace}/${name}) and would tend the tests' pools: scale it to 0 first`,
  );
}

async function refusePools(kube: KubeClient): Promise<void> {
  const owners = await Promise.all(OWNERS.map((kind) => listed(kube, kind)));
  const [first, ...others] = owners.flatMap((found) => found ?? []);
  if (first === undefined) return;
  const { namespace, name } = first.metadata;
  throw new Error(
    `the cluster has ${1 + others.length} of drover's pools and sets (${namespace}/${name}), which the tests' worker would tend: use a cluster without`,
  );
}

async function ensureDefinitions(kube: KubeClient): Promise<string[]> {
  const missing: KubeObject[] = [];
  for (const crd of droverCrds()) {
    const { name } = crd.metadata;
    const before = await ignoreNotFound(kube.get(CustomResourceDefinitions, { name }));
    if (before === undefined) {
      missing.push(crd);
      continue;
    }
    const after = await kube.patch(CustomResourceDefinitions, { name }, 'apply', crd, { force: true, dryRun: true });
    if (outcomeOf(before, after) !== 'unchanged')
      throw new Error(`the cluster's ${name} is another version's: apply deploy/crds first`);
  }
  await installCrds(kube, missing);
  return missing.map(({ metadata }) => metadata.name);
}

async function listed<T extends KubeObject>(kube: KubeClient, resource: Resource): Promise<Stored<T>[] | undefined> {
  try {
    return (await kube.list<T>(resource)).items;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
