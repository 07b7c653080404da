import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import type { ReplicaSetSpec, ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { VirtualMachineReplicaSets, VirtualMachines } from '../../api/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { replicaSetIdOf } from '../../workflows/messages.ts';
import { startRecorder } from './recorder.ts';

/**
 * Runs through a replica set's life on a separate stack, with a failure in it, and keeps the history of its workflow,
 * as `record.ts` does for the other workflows: `node test/replay/record-replica-set.ts LABEL`.
 */
const { kube, client, keep, end } = await startRecorder('record-replica-set.ts');
const key = { namespace: 'default', name: 'web' };
type SetObject = KubeObject & { spec: ReplicaSetSpec; status?: ReplicaSetStatus };

const status = async (): Promise<Partial<ReplicaSetStatus>> =>
  (await kube.get<SetObject>(VirtualMachineReplicaSets, key)).status ?? {};
const change = (spec: Partial<ReplicaSetSpec>): Promise<unknown> =>
  kube.patch(VirtualMachineReplicaSets, key, 'merge', { spec });
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(100);
};
const has = async (count: number): Promise<boolean> => (await status()).replicas === count;
/** Without `running` and `runStrategy` the API server takes no VM. */
const template = (runStrategy: string): ReplicaSetSpec['template'] => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    runStrategy,
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms' } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } } },
    },
  },
});

try {
  // The first VMs are refused.
  const selector = { matchLabels: { app: 'web' } };
  const spec = { replicas: 5, selector, minReadySeconds: 1, template: template('Never') };
  await kube.create<SetObject>(VirtualMachineReplicaSets, { metadata: key, spec });
  await until(async () => (await status()).conditions?.some(({ type }) => type === 'ReplicaFailure') === true);
  await change({ template: template('Always') });
  await until(async () => (await status()).availableReplicas === 5);
  await change({ replicas: 140 });
  await until(() => has(140));
  await change({ replicas: 3 });
  await until(() => has(3));
  // A VM is released, replaced, and adopted again, which is one too many.
  const [vm] = (await kube.list(VirtualMachines, { namespace: key.namespace })).items;
  const relabel = (app: string) =>
    kube.patch(VirtualMachines, vm!.metadata, 'merge', { metadata: { labels: { app } } });
  await relabel('debug');
  await until(async () => (await kube.get(VirtualMachines, vm!.metadata)).metadata.ownerReferences === undefined);
  await until(() => has(3));
  await relabel('web');
  await until(async () => !(await has(3)));
  await until(() => has(3));
  await change({ paused: true });
  await until(async () => (await status()).conditions?.some(({ reason }) => reason === 'PausedBySpec') === true);
  await kube.delete(VirtualMachineReplicaSets, key);
  await until(() => kube.get(VirtualMachineReplicaSets, key).then(() => false, isNotFound));
  const workflow = client.workflow.getHandle(replicaSetIdOf({ cluster: 'default', ...key }));
  await workflow.result();
  await keep({ 'replica-set': workflow });
} finally {
  await end();
}
