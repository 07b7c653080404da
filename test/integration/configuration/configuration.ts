import { setTimeout as sleep } from 'node:timers/promises';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { REFERENCE_RESOURCES, type OwnReference } from '../../../decisions/template/references.ts';
import type { TestFleet } from '../fleet.ts';
import { templateOf, TestPool } from '../rollout/rollouts.ts';

/** What VMs of the tests read: the Secret `user` by cloud-init, and the ConfigMap `settings` as a disk. */
export const volumes = [
  { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user' } } },
  { name: 'settings', configMap: { name: 'settings' } },
];

const readingTemplate = templateOf({ vmi: { volumes } });

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Creates a Secret or ConfigMap whose content is this text. */
export const create = (
  fleet: TestFleet,
  namespace: string,
  { kind, name }: OwnReference,
  text: string,
): Promise<Stored> =>
  fleet.kube.create(REFERENCE_RESOURCES[kind], {
    metadata: { namespace, name },
    data: { text: kind === 'Secret' ? base64(text) : text },
  });

/** Changes the content of a Secret or ConfigMap. */
export const change = (
  fleet: TestFleet,
  namespace: string,
  { kind, name }: OwnReference,
  text: string,
): Promise<Stored> =>
  fleet.kube.patch(REFERENCE_RESOURCES[kind], { namespace, name }, 'merge', {
    data: { text: kind === 'Secret' ? base64(text) : text },
  });

/** Changes the label of a Secret or ConfigMap, as the one who has written its content. */
export const label = (
  fleet: TestFleet,
  namespace: string,
  { kind, name }: OwnReference,
  value: string,
): Promise<Stored> =>
  fleet.kube.patch(REFERENCE_RESOURCES[kind], { namespace, name }, 'merge', {
    metadata: { labels: { release: value } },
  });

/**
 * Makes a pool whose VMs restart when what they read changes; resolves when they run, and a second has passed since.
 */
export async function readingPool(fleet: TestFleet, spec: Partial<PoolSpec> = {}): Promise<TestPool> {
  const namespace = await fleet.namespace();
  const names = spec.nameGeneration === undefined ? ['user'] : ['user-1', 'user-2'];
  await Promise.all([
    ...names.map((name) => create(fleet, namespace, { kind: 'Secret', name }, 'first')),
    create(fleet, namespace, { kind: 'ConfigMap', name: 'settings' }, 'first'),
  ]);
  await aSecond();
  const pool = TestPool.of(fleet, namespace);
  await fleet.createPool(namespace, 'web', {
    replicas: 3,
    maxUnavailable: 1,
    template: readingTemplate,
    ...spec,
    rollout: { onConfigChange: 'Restart', ...spec.rollout },
  });
  await pool.untilSaid({ UpToDate: 'UpToDate', Available: 'MinimumReplicasAvailable' });
  await pool.until({ readyReplicas: spec.replicas ?? 3 });
  await aSecond();
  return pool;
}

/** Times in Kubernetes are whole seconds: what follows is later than what was before. */
export const aSecond = (): Promise<void> => sleep(1_100);
