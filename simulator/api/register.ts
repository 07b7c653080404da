import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import { APIServices, KubeVirts, Namespaces, Services, StorageClasses, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists, KubeError } from '../../kubernetes/errors.ts';
import { timestamp } from '../objects/conditions.ts';
import type { KubeVirt } from '../objects/kubevirt.ts';
import { GROUP, VERSIONS } from './discovery.ts';

const NAMESPACE = 'kubevirt';
const SERVICE = 'virt-api';
const VERSION = 'v1.8.0-simulated';
const IS_DEFAULT = 'storageclass.kubernetes.io/is-default-class';

/** Creates the objects of a cluster with KubeVirt: namespace, configuration, storage class, and API service. */
export async function register(client: KubeClient, port: number): Promise<void> {
  await ensure(client, Namespaces, { metadata: { name: NAMESPACE } });
  await ensureKubeVirt(client);
  await ensureStorageClass(client);
  await ensure(client, Services, {
    metadata: { name: SERVICE, namespace: NAMESPACE },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  for (const version of VERSIONS) {
    const service = { name: SERVICE, namespace: NAMESPACE, port };
    await ensure(client, APIServices, {
      metadata: { name: `${version}.${GROUP}` },
      spec: {
        group: GROUP,
        version,
        service,
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 1000,
        versionPriority: version === 'v1' ? 15 : 5,
      },
    });
  }
}

/** Resolves once the API server forwards calls; throws after `timeoutMs`. */
export async function reachable(client: KubeClient, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await Promise.all(
        VERSIONS.map((version) => client.request({ method: 'GET', path: `/apis/${GROUP}/${version}`, signal })),
      );
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50, undefined, { signal });
    }
  }
}

/** Creates the object, or gives the existing one its spec and webhooks. */
export async function ensure(client: KubeClient, resource: Resource, object: KubeObject): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { spec, webhooks } = object as { spec?: unknown; webhooks?: unknown };
    const patch = { ...(spec === undefined ? {} : { spec }), ...(webhooks === undefined ? {} : { webhooks }) };
    if (Object.keys(patch).length > 0) await client.patch(resource, object.metadata, 'merge', patch);
  }
}

/** Creates a default storage class that lets claims grow. Leaves an existing default class as it is. */
async function ensureStorageClass(client: KubeClient): Promise<void> {
  const { items } = await client.list(StorageClasses);
  if (items.some(({ metadata }) => metadata.annotations?.[IS_DEFAULT] === 'true')) return;
  const metadata = { name: 'simulated', annotations: { [IS_DEFAULT]: 'true' } };
  await ensure(client, StorageClasses, {
    metadata,
    provisioner: 'simulated.example.com',
    allowVolumeExpansion: true,
    volumeBindingMode: 'Immediate',
  });
}

/** Leaves the spec of an existing KubeVirt object as it is: it is the cluster's configuration. */
async function ensureKubeVirt(client: KubeClient): Promise<void> {
  const { items } = await client.list<KubeVirt>(KubeVirts);
  let kubevirt = items[0];
  kubevirt ??= await client.create<KubeVirt>(KubeVirts, {
    metadata: { name: 'kubevirt', namespace: NAMESPACE },
    spec: { configuration: {}, workloadUpdateStrategy: { workloadUpdateMethods: ['LiveMigrate'] } },
  });
  if (kubevirt.status?.phase === 'Deployed') return;
  const time = timestamp(Date.now());
  const available = {
    type: 'Available',
    status: 'True',
    reason: 'AllComponentsReady',
    message: 'All components are ready.',
  };
  const status = {
    phase: 'Deployed',
    operatorVersion: VERSION,
    observedKubeVirtVersion: VERSION,
    targetKubeVirtVersion: VERSION,
    conditions: [{ ...available, lastProbeTime: time, lastTransitionTime: time }],
  };
  try {
    await client.patch(KubeVirts, kubevirt.metadata, 'merge', { status }, { subresource: 'status' });
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
  }
}
