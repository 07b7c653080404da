import { expect, test } from 'vitest';
import './virtual-pauses.ts';
import { ControllerRevisions, KubeVirtPools, VirtualMachines } from '../../../api/resources.ts';
import { templateOf } from '../../clients/rollout/pools.ts';
import { Cluster, namespace, referenceTo } from './handover-cluster.ts';

type Owner = Parameters<typeof referenceTo>[0];
const kubeVirts = { replicas: 1, virtualMachineTemplate: templateOf(1) };

function revision(cluster: Cluster, name: string, owner?: Owner, data: object = kubeVirts): void {
  const ownerReferences = owner === undefined ? [] : [referenceTo(owner)];
  cluster.server.create(ControllerRevisions, { metadata: { namespace, name, ownerReferences }, revision: 1, data });
}

const revisionsIn = (cluster: Cluster): string[] =>
  cluster.server.all(ControllerRevisions).map(({ metadata }) => metadata.name);

test('a takeover deletes the revisions of the KubeVirt pool, and no others', async () => {
  const cluster = new Cluster();
  const pool = cluster.kubeVirtPool('web-0', 'web-1');
  const vm = cluster.find(VirtualMachines, 'web-0')!;
  for (const name of ['web-2', `vmpool-${pool.metadata.uid}`]) revision(cluster, name, pool);
  revision(cluster, 'web-0-instancetype', vm);
  revision(cluster, 'web-9');
  await cluster.takeOver();
  expect(revisionsIn(cluster)).toEqual(['web-0-instancetype', 'web-9']);
  expect(cluster.find(KubeVirtPools)).toBeUndefined();
});

test('a release deletes what KubeVirt would take for revisions of the new pool before it makes the pool', async () => {
  const cluster = new Cluster();
  cluster.pool('web-1');
  const other = cluster.server.create(KubeVirtPools, { metadata: { namespace, name: 'web-db' }, spec: {} });
  const gone = { ...other, metadata: { ...other.metadata, name: 'web', uid: 'uid-of-a-former-pool' } };
  const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { ...gone.metadata, name: 'web' } };
  revision(cluster, 'web-1', gone);
  revision(cluster, 'web-12');
  revision(cluster, 'web-2', other);
  revision(cluster, 'web-3', set);
  revision(cluster, 'web-4', undefined, { spec: { template: {} } });
  revision(cluster, 'web-5a');
  revision(cluster, 'web-db-1');
  await cluster.release();
  const { uid } = cluster.find(KubeVirtPools)!.metadata;
  const [own, ...others] = revisionsIn(cluster).sort();
  expect(own).toMatch(new RegExp(`^vmpool-${uid}-`));
  expect(others).toEqual(['web-2', 'web-3', 'web-4', 'web-5a', 'web-db-1']);
});
