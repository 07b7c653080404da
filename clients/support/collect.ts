import type { KubeObject, Stored } from '../../api/objects.ts';
import {
  apiVersionOf,
  ClusterVirtualMachineOperations,
  ControllerRevisions,
  CustomResourceDefinitions,
  Events,
  KubeVirts,
  Leases,
  Nodes,
  Pods,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { sentenceOf } from '../cli/failure.ts';
import { serialize } from '../cli/print.ts';
import { examine } from '../doctor/examine.ts';
import type { WorkerAccount } from '../doctor/rights.ts';
import type { Session } from '../session/session.ts';
import { readVersions } from '../version/versions.ts';
import { redacted } from './redact.ts';
import { workflowsOf } from './workflows.ts';

export interface SupportFile {
  path: string;
  text: string;
}

interface CollectOptions {
  /** Undefined: all namespaces. */
  namespace: string | undefined;
  worker: WorkerAccount;
}

/** Whole, but for what may be secret. */
const WHOLE: Resource[] = [
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineOperations,
  ClusterVirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachines,
  VirtualMachineInstances,
  VirtualMachineInstanceMigrations,
  KubeVirts,
];
const LOG_LINES = 20_000;

/** Collects what explains a problem with drover. `errors.txt` says what could not be read. */
export async function collect(session: Session, { namespace, worker }: CollectOptions): Promise<SupportFile[]> {
  const errors: string[] = [];
  const part = async (what: string, read: () => Promise<SupportFile[]>): Promise<SupportFile[]> => {
    try {
      return await read();
    } catch (error) {
      errors.push(`${what}: ${sentenceOf(error)}`);
      return [];
    }
  };
  const ofCluster = (what: string, read: (kube: KubeClient) => Promise<SupportFile[]>): Promise<SupportFile[]> =>
    part(what, async () => read(await session.kube()));
  const parts = await Promise.all([
    part('version', async () => [json('version.json', await readVersions(session))]),
    part('doctor', async () => [json('doctor.json', { items: await examine(session, worker) })]),
    part('workflows', async () => [json('temporal/workflows.json', { items: await workflowsOf(session, namespace) })]),
    ...WHOLE.map((resource) => ofCluster(resource.plural, (kube) => objects(kube, resource, namespace, redacted))),
    ofCluster('controllerrevisions', (kube) => objects(kube, ControllerRevisions, namespace, redacted, isDrovers)),
    ofCluster('leases', (kube) => objects(kube, Leases, namespace, redacted, isClaim)),
    ofCluster('events', (kube) => objects(kube, Events, namespace, redacted, isOfVms)),
    ofCluster('nodes', (kube) => objects(kube, Nodes, undefined, nodeOf)),
    ofCluster('customresourcedefinitions', (kube) =>
      objects(kube, CustomResourceDefinitions, undefined, metadataOf, isOfOurGroups),
    ),
    ofCluster('logs', (kube) => workerLogs(kube, worker)),
  ]);
  const files = parts.flat();
  if (errors.length > 0) files.push({ path: 'errors.txt', text: `${errors.toSorted().join('\n')}\n` });
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const json = (path: string, data: unknown): SupportFile => ({ path, text: `${JSON.stringify(data, null, 2)}\n` });

const isDrovers = ({ metadata }: Stored): boolean =>
  metadata.ownerReferences?.some(({ apiVersion }) => apiVersion.startsWith('drover.dev/')) === true;
const isClaim = ({ metadata }: Stored): boolean => metadata.name === 'drover';
const isOfVms = ({ regarding }: Stored<KubeObject & { regarding?: { apiVersion?: string } }>): boolean =>
  /^(drover\.dev|([a-z]+\.)?kubevirt\.io)\//.test(regarding?.apiVersion ?? '');
const isOfOurGroups = ({ metadata }: Stored): boolean => /\.(drover\.dev|kubevirt\.io)$/.test(metadata.name);
const metadataOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject =>
  redacted({ apiVersion, kind, metadata } as KubeObject);

/** Without addresses, images and names of machines. */
function nodeOf({ apiVersion, kind, metadata: { name, labels }, spec, status }: KubeObject): KubeObject {
  const { taints, unschedulable } = (spec ?? {}) as Record<string, unknown>;
  const { conditions, allocatable } = (status ?? {}) as Record<string, unknown>;
  return {
    apiVersion,
    kind,
    metadata: { name, labels },
    spec: { taints, unschedulable },
    status: { conditions, allocatable },
  } as KubeObject;
}

async function objects(
  kube: KubeClient,
  resource: Resource,
  namespace: string | undefined,
  shown: (object: KubeObject) => KubeObject,
  isWanted: (object: Stored) => boolean = () => true,
): Promise<SupportFile[]> {
  const within = resource.namespaced && resource !== KubeVirts ? { namespace } : {};
  const list = await ignoreNotFound(kube.list(resource, within));
  if (list === undefined) return [];
  const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind };
  const wanted = list.items.filter(isWanted).map((object) => shown({ ...object, ...typed }));
  const group = resource.group === '' ? '' : `.${resource.group}`;
  return [{ path: `cluster/${resource.plural}${group}.yaml`, text: `${await serialize(wanted, 'yaml')}\n` }];
}

/** The last lines of the workers' logs, if they run as pods. */
async function workerLogs(kube: KubeClient, { namespace, name }: WorkerAccount): Promise<SupportFile[]> {
  const { items } = await kube.list<KubeObject & { spec?: { serviceAccountName?: string } }>(Pods, { namespace });
  const files: SupportFile[] = [];
  for (const { metadata } of items.filter(({ spec }) => spec?.serviceAccountName === name)) {
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log?tailLines=${LOG_LINES}`;
    files.push({ path: `logs/${metadata.name}.log`, text: await kube.text({ method: 'GET', path }) });
  }
  return files;
}
