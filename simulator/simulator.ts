import type { KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '../kubernetes/client.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import {
  EVICTION_PATH,
  FIELD_MANAGER,
  MIGRATION_PATH,
  NODE_PATH,
  VMI_PATH,
  VM_PATH,
  registerAdmission,
  unregisterAdmission,
} from './api/admission-registration.ts';
import { admitMigration, admitVmi, admitVm, answered, denied, Denied, type Review } from './api/admission.ts';
import { reviewEviction } from './api/evictions.ts';
import { reachable, register } from './api/register.ts';
import { serve } from './api/server.ts';
import { perform } from './api/subresources.ts';
import { DataVolumeController } from './controllers/data-volume-controller.ts';
import { EvictionController } from './controllers/eviction-controller.ts';
import { GarbageCollector } from './controllers/garbage-collector.ts';
import { MigrationController } from './controllers/migration-controller.ts';
import { NamespaceController } from './controllers/namespace-controller.ts';
import { NodeController } from './controllers/node-controller.ts';
import { PodController } from './controllers/pod-controller.ts';
import { ClaimController } from './controllers/pvc-controller.ts';
import { VmController } from './controllers/vm-controller.ts';
import { VmiController } from './controllers/vmi-controller.ts';
import { WorkloadUpdates } from './controllers/workload-updates.ts';
import type { Migration, VirtualMachineInstance } from './objects/kubevirt.ts';
import { Cluster } from './store/cluster.ts';
import type { Log } from './store/log.ts';
import { OwnedKinds } from './store/owned-kinds.ts';
import { inFlight } from './vmi/new-migration.ts';

interface SimulatorOptions {
  port: number;
  cert: Buffer;
  key: Buffer;
  log: Log;
  /** Maximum number of objects of one kind that are processed at once. */
  concurrency?: number;
  nodes?: number;
}

const REACHABLE_MS = 30_000;

/** Simulates KubeVirt, CDI and the parts of kube-controller-manager that a fleet of VMs needs, on a real API server. */
export async function startSimulator(
  config: KubeConfig,
  options: SimulatorOptions,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const { log, concurrency = 32, nodes = 3 } = options;
  const client = new KubeClient(config, {
    fieldManager: FIELD_MANAGER,
    userAgent: FIELD_MANAGER,
    connections: 2 * concurrency,
  });
  const stopping = new AbortController();
  const cluster = new Cluster(client, log);
  const kinds = new OwnedKinds(cluster);
  const nodeController = new NodeController(cluster);
  const podController = new PodController(cluster, concurrency);
  const controllers = [
    new GarbageCollector(cluster, kinds, concurrency),
    new VmController(cluster, concurrency),
    new VmiController(cluster, concurrency),
    new DataVolumeController(cluster, concurrency),
    new MigrationController(cluster, concurrency),
    new EvictionController(cluster, concurrency),
    new WorkloadUpdates(cluster),
    new ClaimController(cluster, concurrency),
    nodeController,
    podController,
    new NamespaceController(cluster),
  ];
  const hooks = new Map([
    [VM_PATH, async (review: Review) => answered(review, admitVm(review, cluster.kubevirt))],
    [VMI_PATH, async (review: Review) => answered(review, admitVmi(review))],
    [MIGRATION_PATH, (review: Review) => decided(review, () => reviewMigration(cluster, review))],
    [EVICTION_PATH, (review: Review) => decided(review, () => reviewEviction(cluster, review))],
    [
      NODE_PATH,
      async (review: Review) => {
        if (review.request.dryRun !== true) await podController.cordoned(review.request.name!);
        return answered(review, []);
      },
    ],
  ]);
  const server = await serve({ ...options, perform: (call) => perform(cluster, call), hooks });
  await register(client, server.port);
  await nodeController.create(nodes);
  await Promise.all([
    ...cluster.stores.map((store) => store.start()),
    kinds.start(),
    reachable(client, REACHABLE_MS, stopping.signal),
  ]);
  // Controllers start only now, with all caches filled: they must not decide on a partial view.
  for (const controller of controllers) await controller.start();
  await registerAdmission(client, server.port, options.cert);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await unregisterAdmission(client).catch((error: Error) =>
      log.warn(`admission is still registered: ${error.message}`),
    );
    await server.close();
    await Promise.all(controllers.map((controller) => controller.stop()));
    await Promise.all([...cluster.stores.map((store) => store.stop()), kinds.stop()]);
    await client.close();
  };
  return { port: server.port, stop };
}

/** Answers with the patch that it resolves to, or with its refusal. */
async function decided(review: Review, decide: () => Promise<ReturnType<typeof admitMigration>>): Promise<object> {
  try {
    return answered(review, await decide());
  } catch (error) {
    if (error instanceof Denied) return denied(review, error);
    throw error;
  }
}

async function reviewMigration(
  { client, migrations, vmis }: Cluster,
  review: Review,
): Promise<ReturnType<typeof admitMigration>> {
  const { metadata, spec } = review.request.object as Migration;
  const { namespace = '' } = metadata;
  const { vmiName: name = '' } = spec;
  const vmi = await ignoreNotFound(client.get<VirtualMachineInstance>(vmis.resource, { namespace, name }));
  return admitMigration(review, vmi, await inFlight(client, migrations, namespace, name));
}
