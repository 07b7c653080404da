import type { KubeConfig } from '@kubernetes/client-node';
import { CDIs, CustomResourceDefinitions, PersistentVolumes, StorageClasses } from '../api/resources.ts';
import { cdiCrds } from '../dev/crds/cdi-crds.ts';
import { installCrds } from '../dev/crds/crds.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import { FIELD_MANAGER } from './api/admission-registration.ts';
import { DataVolumeController } from './controllers/data-volume-controller.ts';
import { ClaimController } from './controllers/pvc-controller.ts';
import { Cluster } from './store/cluster.ts';
import type { Log } from './store/log.ts';

/**
 * Simulates only CDI and the storage, beside a real KubeVirt. Binds every claim of the cluster to a volume that doesn't
 * exist, and therefore throws if the cluster has its own storage.
 */
export async function startStorage(
  config: KubeConfig,
  options: { log: Log; concurrency?: number },
): Promise<{ stop: () => Promise<void> }> {
  const { log, concurrency = 32 } = options;
  const client = new KubeClient(config, {
    fieldManager: FIELD_MANAGER,
    userAgent: FIELD_MANAGER,
    connections: 2 * concurrency,
  });
  try {
    await refuseRealStorage(client);
    await installMissing(client);
  } catch (error) {
    await client.close();
    throw error;
  }
  const cluster = new Cluster(client, log);
  const stores = [cluster.dataVolumes, cluster.claims, cluster.vmis];
  const controllers = [new DataVolumeController(cluster, concurrency), new ClaimController(cluster, concurrency)];
  await Promise.all(stores.map((store) => store.start()));
  for (const controller of controllers) controller.start();
  const stop = async (): Promise<void> => {
    await Promise.all(controllers.map((controller) => controller.stop()));
    await Promise.all(stores.map((store) => store.stop()));
    await client.close();
  };
  return { stop };
}

async function refuseRealStorage(client: KubeClient): Promise<void> {
  for (const resource of [CDIs, StorageClasses, PersistentVolumes]) {
    const [found] = (await ignoreNotFound(client.list(resource)))?.items ?? [];
    if (found === undefined) continue;
    throw new Error(
      `the cluster at ${client.server} has its own storage (${resource.kind} ${found.metadata.name}): it can't be simulated there`,
    );
  }
}

/** Leaves existing CRDs as they are: they may be CDI's own. */
async function installMissing(client: KubeClient): Promise<void> {
  const { items } = await client.list(CustomResourceDefinitions);
  const present = new Set(items.map(({ metadata }) => metadata.name));
  await installCrds(
    client,
    cdiCrds().filter(({ metadata }) => !present.has(metadata.name)),
  );
}
