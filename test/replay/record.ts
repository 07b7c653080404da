/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../api/pool/pool.ts';
import {
  KubeVirts,
  ResourceQuotas,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
} from '../../api/resources.ts';
import { userOf } from '../../clients/session/requester.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import {
  healVmIdOf,
  pause,
  poolIdOf,
  operationRunIdOf,
  powerProgress,
  resume,
  transitionProgress,
  updateBatchIdOf,
  watchIdOf,
} from '../../workflows/lib/messages.ts';
import type { machineTypeTransition } from '../../workflows/machine-types/machine-type-transition.ts';
import type { powerVms } from '../../workflows/power/power-vms.ts';
import { rolloutRequest } from '../requests.ts';
import { startRecorder } from './recorder.ts';

/**
 * Runs through a pool's life on a separate stack, with a failure in it, and keeps the histories of its workflows. Run
 * `npx node test/replay/record.ts LABEL` before a release, and when a workflow takes a path that no kept history takes.
 */
const { kube, client, keep, end } = await startRecorder('record.ts');
const key = { namespace: 'default', name: 'web' };

const ref = { cluster: 'default', ...key };
const pool = client.workflow.getHandle(poolIdOf(ref));

type Vm = KubeObject & { status?: { ready?: boolean } };
const at = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

const status = async (): Promise<Partial<PoolStatus>> =>
  (await kube.get<KubeObject & { status?: PoolStatus }>(VirtualMachinePools, key)).status ?? {};
/** Replaces whole fields of the spec. */
const change = (spec: Partial<PoolSpec>): Promise<unknown> =>
  kube.patch(
    VirtualMachinePools,
    key,
    'json',
    Object.entries(spec).map(([field, value]) => ({ op: 'add', path: `/spec/${field}`, value })),
  );
/** A template whose VMs boot almost immediately. Each mark makes another revision. */
const template = (mark: string, annotations: Record<string, string> = {}): PoolSpec['template'] => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: {
        annotations: { 'sim.drover.dev/boot-time': '100ms', 'sim.drover.dev/stop-time': '100ms', ...annotations },
      },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } }, hostname: mark },
    },
  },
});
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
  await kube.patch(
    ResourceQuotas,
    name,
    'merge',
    { status: { hard: vms, used: { 'count/virtualmachines.kubevirt.io': '0' } } },
    { subresource: 'status' },
  );
};

try {
  await quota('3');
  await kube.create(VirtualMachinePools, {
    metadata: key,
    spec: {
      replicas: 5,
      scaleInStrategy: { proactive: { statePreservation: 'Offline' } },
      template: template('one'),
    },
  });
  await until(async () => (await status()).conditions?.some(({ type }) => type === 'ReplicaFailure') === true);
  await quota('1000');
  await until(async () => (await status()).replicas === 5);
  await scale(120);
  await scale(8);
  await until(async () => (await status()).readyReplicas === 8);

  // A rollout with a step and a pause, which completes.
  await change({ template: template('two'), rollout: { steps: [{ to: 1, then: { approval: {} } }] } });
  await until(async () => (await status()).rollout?.stepReachedAt !== undefined);
  await pool.signal(pause, { by: 'a test' });
  await until(async () => (await status()).rollout?.paused !== undefined);
  const { annotations } = rolloutRequest(await kube.get<Pool>(VirtualMachinePools, key), 'promote', {
    by: await userOf(kube),
  });
  await kube.patch(VirtualMachinePools, key, 'merge', { metadata: { annotations } });
  await until(async () => (await status()).rollout?.handledRequests !== undefined);
  await pool.signal(resume);
  await until(async () => (await status()).updatedReplicas === 8);
  // A rollout that fails and is undone.
  const bad = template('three', { 'sim.drover.dev/never-ready': 'true' });
  await change({ template: bad, rollout: { progressDeadlineSeconds: 2, onFailure: 'Undo' } });
  await until(async () => (await status()).rollout?.halted?.kind === 'Undoing');
  await until(async () => (await status()).readyReplicas === 8);
  // A rollout that is superseded.
  const slow = template('four', { 'sim.drover.dev/boot-time': '5s' });
  await change({ template: slow, rollout: {} });
  // Wait until a VMI of it comes up: a batch that is superseded before it has any only defers.
  await until(async () => ((await status()).updatedReplicas ?? 0) > 0);
  const { lastBatch } = (await status()).rollout!;
  await change({ template: template('five') });
  await until(async () => (await status()).currentRevision === revisionOf(template('five')));
  await scale(2);
  // A VM that never starts, until it is replaced.
  await kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
    metadata: { annotations: { 'sim.drover.dev/backoff-factor': '0.01' } },
  });
  await change({
    autohealing: {
      startupFailureThreshold: 2,
      backoff: { initial: '1s', jitter: 0 },
      maxUnhealthy: '100%',
      preserveStorage: false,
    },
  });
  const [sick] = (await kube.list(VirtualMachines, { namespace: key.namespace })).items;
  const metadata = { annotations: { 'sim.drover.dev/fail-starts': 'always' } };
  await kube.patch(VirtualMachines, sick!.metadata, 'merge', { spec: { template: { metadata } } });
  await kube.delete(VirtualMachineInstances, sick!.metadata);
  await until(async () => (await status()).healing?.finished.length === 1);
  // A restart of unowned VMs, with a pause, and with a VM that does not come back, so that another VM is skipped.
  const names = ['one', 'two', 'three'];
  for (const name of names)
    await kube.create(VirtualMachines, {
      metadata: at(name),
      spec: template('six', { 'sim.drover.dev/boot-time': '1s' }).spec,
    });
  const isReady = async (name: string): Promise<boolean> =>
    (await kube.get<Vm>(VirtualMachines, at(name))).status?.ready === true;
  await until(async () => (await Promise.all(names.map(isReady))).every(Boolean));
  const vmis = await Promise.all(names.map((name) => kube.get(VirtualMachineInstances, at(name))));
  const youngest = Math.max(...vmis.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
  await until(() => Promise.resolve(Date.now() > youngest + 1_000));
  const { metadata: made } = await kube.create(VirtualMachineOperations, {
    metadata: at('recorded'),
    spec: { action: 'Restart', vms: { names }, atOnce: 1, deadline: '5s' },
  });
  const operation = { cluster: 'default', namespace: made.namespace, name: made.name, uid: made.uid };
  const restart = client.workflow.getHandle<typeof powerVms>(operationRunIdOf(operation));
  const hasBegun = async (): Promise<boolean> => (await restart.query(powerProgress)).inProgress.length === 1;
  await until(() => hasBegun().catch(() => false));
  await restart.signal(pause, { by: 'a test' });
  await until(async () => (await restart.query(powerProgress)).done.length === 1);
  const sickly = { template: { metadata: { annotations: { 'sim.drover.dev/never-ready': 'true' } } } };
  for (const name of names) await kube.patch(VirtualMachines, at(name), 'merge', { spec: sickly });
  await restart.signal(resume);
  await restart.result();
  // A machine type transition of these VMs, of a stopped VM and of the pool. A VM is created during a pause, and a VM
  // does not come back.
  const typed = {
    spec: {
      template: {
        metadata: { annotations: { 'sim.drover.dev/never-ready': null } },
        spec: { domain: { machine: { type: 'pc-q35-rhel8.6.0' } } },
      },
    },
  };
  for (const name of names) {
    await kube.patch(VirtualMachines, at(name), 'merge', typed);
    await kube.delete(VirtualMachineInstances, at(name));
  }
  await kube.create(VirtualMachines, { metadata: at('off'), spec: { ...template('six').spec, runStrategy: 'Halted' } });
  await kube.patch(VirtualMachines, at('off'), 'merge', typed);
  type Vmi = KubeObject & { status?: { machine?: { type: string } } };
  const vmiType = async (name: string): Promise<string | undefined> =>
    (await kube.get<Vmi>(VirtualMachineInstances, at(name)).catch(() => undefined))?.status?.machine?.type;
  await until(async () => (await Promise.all(names.map(vmiType))).every((type) => type === 'pc-q35-rhel8.6.0'));
  await until(async () => (await Promise.all(names.map(isReady))).every(Boolean));
  const { spec: six } = template('six');
  const old = {
    spec: {
      ...six,
      template: {
        ...(six.template as object),
        spec: { domain: { devices: {}, memory: { guest: '64Mi' }, machine: { type: 'pc-q35-rhel8.6.0' } } },
      },
    },
  };
  await change({ template: old });
  await until(async () => (await status()).currentRevision === revisionOf(old));
  const { metadata: changing } = await kube.create(VirtualMachineOperations, {
    metadata: at('types'),
    spec: {
      action: 'MachineType',
      vms: { selector: {} },
      machineType: { from: '*rhel8.*', restart: true, templates: true },
      atOnce: 1,
      deadline: '5s',
    },
  });
  const ofTypes = { cluster: 'default', namespace: changing.namespace, name: changing.name, uid: changing.uid };
  const types = client.workflow.getHandle<typeof machineTypeTransition>(operationRunIdOf(ofTypes));
  const restarts = async (): Promise<boolean> => (await types.query(transitionProgress)).inProgress.length === 1;
  await until(() => restarts().catch(() => false));
  await types.signal(pause, { by: 'a test' });
  await until(async () => (await types.query(transitionProgress)).restarted === 1);
  const later = {
    ...template('six').spec,
    runStrategy: 'Halted',
    template: { spec: { domain: { devices: {}, machine: { type: 'pc-q35-rhel8.4.0' } } } },
  };
  await kube.create(VirtualMachines, { metadata: at('later'), spec: later });
  for (const name of names) await kube.patch(VirtualMachines, at(name), 'merge', { spec: sickly });
  await types.signal(resume);
  await types.result();
  await kube.delete(VirtualMachinePools, key);
  await until(() => kube.get(VirtualMachinePools, key).then(() => false, isNotFound));
  await pool.result();
  const superseded = client.workflow.getHandle(updateBatchIdOf(ref, revisionOf(slow), lastBatch));
  const firstBatch = client.workflow.getHandle(updateBatchIdOf(ref, revisionOf(template('two')), 1));
  await keep({
    pool,
    watch: client.workflow.getHandle(watchIdOf('default')),
    'update-batch': firstBatch,
    'update-batch-superseded': superseded,
    'heal-vm': client.workflow.getHandle(healVmIdOf(ref, sick!.metadata.name, 1)),
    'power-vms': restart,
    'machine-types': types,
  });
} finally {
  await end();
}
