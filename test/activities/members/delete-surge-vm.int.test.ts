import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { RoleRecord } from '../../../activities/membership/role-record.ts';
import type { PoolKey } from '../../../activities/owners/owner-key.ts';
import { createPoolActivities } from '../../../activities/pool/pool.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import { PROTECT_ANNOTATION, ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { vmView } from '../../../decisions/from-object/vm.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { aFleet, runningTemplate } from '../../integration/fleet.ts';
import { aWorkerCache, type WorkerCache } from '../cache/worker-cache.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

interface Given {
  key: PoolKey;
  /** Replicas of a pool of which no VM may go down, and an extra one, which is ready. */
  vms: Stored[];
  extra: Stored;
  worker: WorkerCache;
  places: DisruptionClaims;
}

/** `ready`: how many of the two replicas are. */
async function given(ready: number): Promise<Given> {
  const { kube } = cluster();
  const namespace = await cluster().namespace();
  const spec = { replicas: 2, maxUnavailable: 0, maxSurge: 1, template: runningTemplate };
  const pool = (await cluster().createPool(namespace, 'web', spec)) as unknown as StoredPool;
  const vms: Stored[] = [];
  for (const [index, role] of [null, null, 'Surge' as const].entries()) {
    const vm = await kube.create(VirtualMachines, vmFromTemplate(pool, pool.spec.template, index + 1, role));
    vms.push(vm);
    if (role !== null || index < ready) await letRun(vm);
  }
  const worker = await aWorkerCache(cluster().stack.kubeconfig);
  const key = { namespace, name: 'web', uid: pool.metadata.uid };
  const record = new RoleRecord(kube, key);
  await new MockActivityEnvironment().run(() => record.identify([{ vm: vmView(vms[2]!), isNew: true }], 'Surge'));
  await worker.cache.start();
  return { key, vms, extra: vms[2]!, worker, places: new DisruptionClaims(worker.client, worker.cache) };
}

async function letRun({ metadata }: Stored): Promise<void> {
  const { kube } = cluster();
  const { namespace, name, uid } = metadata;
  const vmStatus = { ready: true, created: true, printableStatus: 'Running' };
  await kube.patch(VirtualMachines, metadata, 'merge', { status: vmStatus }, { subresource: 'status' });
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name, uid, controller: true };
  const meta = { namespace: namespace!, name, ownerReferences: [owner] };
  await kube.create(VirtualMachineInstances, { metadata: meta, spec: { domain: { devices: {} } } });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await kube.patch(VirtualMachineInstances, metadata, 'merge', { status });
}

/** Has a worker delete the extra VM, and returns what has become of the VM. */
async function deleted({ key, extra, worker, places }: Given): Promise<'gone' | 'there'> {
  const { deleteVms } = createPoolActivities({
    claims: places,
    ...worker,
    revisions: new Revisions(worker),
    burst: 250,
    concurrency: 8,
  });
  const { name, uid, resourceVersion } = extra.metadata;
  const target = { name, uid, resourceVersion };
  await new MockActivityEnvironment().run(() => deleteVms(key, [target], false, { because: 'Surge' }));
  const now = await ignoreNotFound(cluster().kube.get(VirtualMachines, extra.metadata));
  return now === undefined || now.metadata.deletionTimestamp !== undefined ? 'gone' : 'there';
}

/** Claims a place for a VM, and returns why there is none. */
async function claimed({ key, places, worker }: Given, { metadata }: Stored): Promise<string | null> {
  const vm = vmView(await cluster().kube.get(VirtualMachines, metadata));
  const asked = { vm, vmi: worker.cache.vmiOf(vm), by: 'somebody', reason: 'Restart', pool: key } as const;
  const answer = await places.claim(asked);
  return 'message' in answer ? answer.message : null;
}

test('an extra VM is deleted, but not while it stands in for another that is down', async () => {
  expect(await deleted(await given(2))).toBe('gone');
  expect(await deleted(await given(1))).toBe('there');
});

test('an extra VM stays if another VM that needs it has just got a claim', async () => {
  const fleet = await given(2);
  expect(await claimed(fleet, fleet.vms[0]!)).toBeNull();
  expect(await deleted(fleet)).toBe('there');
});

test.each([
  ['protected it', { annotations: { [PROTECT_ANNOTATION]: 'true' } }],
  ['taken its label off', { labels: { [ROLE_LABEL]: null } }],
])('an extra VM stays if people have %s since', async (_, metadata) => {
  const fleet = await given(2);
  await cluster().kube.patch(VirtualMachines, fleet.extra.metadata, 'merge', { metadata });
  expect(await deleted(fleet)).toBe('there');
});

test('no VM goes down for an extra VM that is gone, on a worker that has not heard of that', async () => {
  const fleet = await given(2);
  await fleet.worker.cache.stop();
  await cluster().kube.delete(VirtualMachines, fleet.extra.metadata);
  expect(await claimed(fleet, fleet.vms[0]!)).toContain('lets no VM go down');
});
