import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { setup } from '../../clients/setup.ts';
import { connectTemporal } from '../../clients/temporal.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { KubeObject } from '../../kubernetes/objects.ts';
import { ResourceQuotas, VirtualMachinePools } from '../../kubernetes/resources.ts';
import { poolIdOf, watchIdOf } from '../../workflows/messages.ts';

/**
 * Plays a pool's life on a stack of its own, with a failure in it, and keeps the histories of its workflows:
 * `node test/replay/record.ts LABEL` before a release, and whenever a workflow takes a way that no kept history takes.
 */
const label = process.argv[2];
if (label === undefined) throw new Error('say what the histories are of: node test/replay/record.ts v0.1.0');
const state = mkdtempSync(join(tmpdir(), 'drover-record-'));
const stack = await startStack({
  state,
  ephemeral: true,
  prepare: async ({ KUBECONFIG, TEMPORAL_ADDRESS }) => {
    const kube = new KubeClient(loadKubeConfig({ kubeconfig: KUBECONFIG }));
    const temporal = await connectTemporal({ address: TEMPORAL_ADDRESS });
    await setup({ kube, temporal, cluster: 'default', say: () => {} });
    await Promise.all([kube.close(), temporal.connection.close()]);
  },
});
const kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }));
const { client, connection } = await connectTemporal({ address: stack.temporalAddress });
const key = { namespace: 'default', name: 'web' };

const status = async (): Promise<{ replicas?: number; conditions?: unknown[] }> =>
  (await kube.get<KubeObject & { status?: object }>(VirtualMachinePools, key)).status ?? {};
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(100);
};
const scale = async (replicas: number): Promise<void> => {
  await kube.patch(VirtualMachinePools, key, 'merge', { spec: { replicas } });
  await until(async () => (await status()).replicas === replicas);
};
const quota = async (hard: string): Promise<void> => {
  const vms = { 'count/virtualmachines.kubevirt.io': hard };
  const name = { namespace: 'default', name: 'vms' };
  await kube.patch(ResourceQuotas, name, 'apply', { metadata: name, spec: { hard: vms } }, { force: true });
  await kube.patch(ResourceQuotas, name, 'merge', { status: { hard: vms, used: { 'count/virtualmachines.kubevirt.io': '0' } } }, { subresource: 'status' });
};

try {
  await quota('3');
  await kube.create(VirtualMachinePools, {
    metadata: key,
    spec: {
      replicas: 5,
      scaleInStrategy: { proactive: { statePreservation: 'Offline' } },
      template: { spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } } },
    },
  });
  await until(async () => (await status()).conditions?.length === 1);
  await quota('1000');
  await until(async () => (await status()).replicas === 5);
  await scale(120);
  await scale(2);
  await kube.delete(VirtualMachinePools, key);
  await until(() => kube.get(VirtualMachinePools, key).then(() => false, isNotFound));
  const pool = client.workflow.getHandle(poolIdOf({ cluster: 'default', ...key }));
  await pool.result();
  mkdirSync(join(import.meta.dirname, 'histories'), { recursive: true });
  for (const [type, handle] of [['pool', pool], ['watch', client.workflow.getHandle(watchIdOf('default'))]] as const) {
    const history = historyToJSON(await handle.fetchHistory());
    writeFileSync(join(import.meta.dirname, 'histories', `${type}-${label}.json.gz`), gzipSync(history, { level: 9 }));
  }
} finally {
  await kube.close();
  await connection.close();
  await stack.stop();
  rmSync(state, { recursive: true, force: true });
}
