import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import type { VmiSetSpec, ReplicaSetSpec, ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { ownerIdOf } from '../../workflows/lib/messages.ts';
import { startRecorder } from './recorder.ts';

/**
 * Runs through the lives of a set of VMs and of a set of VMIs on a separate stack, with failures in them, and keeps the
 * histories of their workflows, as `record.ts` does for the other workflows: `node
 * test/replay/record-replica-set.ts LABEL`.
 */
const { kube, client, keep, end } = await startRecorder('record-replica-set.ts');
const key = { namespace: 'default', name: 'web' };
const ref = { cluster: 'default', ...key };
const selector = { matchLabels: { app: 'web' } };
const metadata = {
  annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms' },
};
const vmi = { domain: { devices: {}, memory: { guest: '64Mi' } } };
type AnySpec = Omit<ReplicaSetSpec, 'template'> & Pick<ReplicaSetSpec | VmiSetSpec, 'template'>;
type SetObject = KubeObject & { spec: AnySpec; status?: ReplicaSetStatus };

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(100);
};

/** A set of a kind, from its creation by `begin` to its end. */
async function play(
  { sets, members }: { sets: Resource; members: Resource },
  begin: (set: ReturnType<typeof setOf>) => Promise<void>,
): Promise<void> {
  const set = setOf(sets);
  const { change, has, says } = set;
  await begin(set);
  await change({ replicas: 140 });
  await until(() => has(140));
  await change({ replicas: 3 });
  await until(() => has(3));
  // A member is released, replaced, and adopted again, which is one too many.
  const [one] = (await kube.list(members, { namespace: key.namespace })).items.filter(
    (member) => member.metadata.deletionTimestamp === undefined,
  );
  const relabel = (app: string) => kube.patch(members, one!.metadata, 'merge', { metadata: { labels: { app } } });
  await relabel('debug');
  await until(async () => (await kube.get(members, one!.metadata)).metadata.ownerReferences === undefined);
  await until(() => has(3));
  await relabel('web');
  await until(() =>
    kube.get(members, one!.metadata).then((found) => found.metadata.ownerReferences !== undefined, isNotFound),
  );
  await until(() => has(3));
  await change({ paused: true });
  await until(() => says(({ reason }) => reason === 'PausedBySpec'));
  await kube.delete(sets, key);
  await until(() => kube.get(sets, key).then(() => false, isNotFound));
}

function setOf(sets: Resource) {
  const status = async (): Promise<Partial<ReplicaSetStatus>> => (await kube.get<SetObject>(sets, key)).status ?? {};
  return {
    create: (spec: Omit<AnySpec, 'selector'>): Promise<unknown> =>
      kube.create<SetObject>(sets, { metadata: key, spec: { ...spec, selector } }),
    change: (spec: Partial<AnySpec>): Promise<unknown> => kube.patch(sets, key, 'merge', { spec }),
    status,
    has: async (count: number): Promise<boolean> => (await status()).replicas === count,
    says: async (what: (condition: { type: string; reason?: string }) => boolean): Promise<boolean> =>
      (await status()).conditions?.some(what) === true,
  };
}

/** Of another run strategy the API server takes no VM. */
const vmTemplate = (runStrategy: string): ReplicaSetSpec['template'] => ({
  metadata: { labels: { app: 'web' } },
  spec: { runStrategy, template: { metadata, spec: vmi } },
});
const instanceTemplate = (failStarts: string): VmiSetSpec['template'] => ({
  metadata: {
    labels: { app: 'web' },
    annotations: { ...metadata.annotations, 'sim.drover.dev/fail-starts': failStarts },
  },
  spec: vmi,
});

try {
  await play(
    { sets: VirtualMachineReplicaSets, members: VirtualMachines },
    async ({ create, change, status, says }) => {
      await create({ replicas: 5, minReadySeconds: 1, template: vmTemplate('Never') });
      await until(() => says(({ type }) => type === 'ReplicaFailure'));
      await change({ template: vmTemplate('Always') });
      await until(async () => (await status()).availableReplicas === 5);
    },
  );
  const kind = { sets: VirtualMachineInstanceReplicaSets, members: VirtualMachineInstances };
  await play(kind, async ({ create, change, status, says }) => {
    await create({ replicas: 5, minReadySeconds: 1, template: instanceTemplate('always') });
    await until(() => says(({ reason }) => reason === 'FailedStart'));
    await change({ template: instanceTemplate('0') });
    await until(async () => (await status()).availableReplicas === 5);
  });
  const ofVms = client.workflow.getHandle(ownerIdOf('VirtualMachineReplicaSet', ref));
  const ofInstances = client.workflow.getHandle(ownerIdOf('VirtualMachineInstanceReplicaSet', ref));
  await Promise.all([ofVms.result(), ofInstances.result()]);
  await keep({ 'replica-set': ofVms, 'vmi-replica-set': ofInstances });
} finally {
  await end();
}
