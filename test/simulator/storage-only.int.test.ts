import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  CustomResourceDefinitions,
  DataVolumes,
  Nodes,
  PersistentVolumeClaims,
  type Resource,
} from '../../api/resources.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { Claim, DataVolume } from '../../simulator/objects/kubevirt.ts';
import { startStorage } from '../../simulator/storage.ts';
import { LeasedStack } from '../stacks/leased-stack.ts';
import { eventually } from './simulated-cluster.ts';

const StorageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
};
const run = promisify(execFile);
const log = { warn: () => {} };

let stack: LeasedStack;
let kube: KubeClient;
beforeAll(async () => {
  stack = await LeasedStack.lease({ simulator: false });
  kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), { fieldManager: 'test' });
});
afterAll(async () => {
  await kube?.close();
  await stack?.stop();
});

const disk = { namespace: 'default', name: 'disk' };
const spec = { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } };

test('storage alone fills disks, releases claims, installs the kinds that KubeVirt watches, and plays nothing of KubeVirt', async () => {
  const storage = await startStorage(loadKubeConfig({ kubeconfig: stack.kubeconfig }), { log });
  onTestFinished(() => storage.stop());
  await kube.create<DataVolume>(DataVolumes, { metadata: disk, spec });
  await eventually(async () => expect((await kube.get<DataVolume>(DataVolumes, disk)).status?.phase).toBe('Succeeded'));
  expect((await kube.get<Claim>(PersistentVolumeClaims, disk)).status?.phase).toBe('Bound');
  // Garbage collection is left to Kubernetes' own controller.
  await kube.delete(DataVolumes, disk);
  await eventually(async () => expect(await ignoreNotFound(kube.get(DataVolumes, disk))).toBeUndefined());
  await kube.delete(PersistentVolumeClaims, disk);
  await eventually(async () => expect(await ignoreNotFound(kube.get(PersistentVolumeClaims, disk))).toBeUndefined());
  const { items } = await kube.list(CustomResourceDefinitions);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(
      ['datavolumes', 'datasources', 'cdis', 'cdiconfigs', 'storageprofiles'].map(
        (plural) => `${plural}.cdi.kubevirt.io`,
      ),
    ),
  );
  expect((await kube.list(Nodes)).items).toEqual([]);
});

test('storage alone refuses a cluster that has storage of its own', async () => {
  await kube.create(StorageClasses, { metadata: { name: 'fast' }, provisioner: 'example.com/fast' });
  onTestFinished(async () => void (await kube.delete(StorageClasses, { name: 'fast' })));
  const main = resolve(import.meta.dirname, '../../simulator/main.ts');
  const env = { ...process.env, KUBECONFIG: stack.kubeconfig };
  const told = await run(process.execPath, [main, '--only', 'storage'], { env }).catch(
    (error: { stderr: string }) => error,
  );
  expect(told.stderr).toMatch(/has its own storage \(StorageClass fast\): it can't be simulated there/);
});
