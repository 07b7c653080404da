import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { begin, type Beginning } from '../../../activities/operations/begin-operation.ts';
import { chosenIn } from '../../../activities/operations/chosen-vms.ts';
import type { OperationSpec, OperationStatus } from '../../../api/operations/operation.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import type { PowerRunInput } from '../../../decisions/operations/run-input.ts';
import { MAX_VMS } from '../../../decisions/power/payload-bytes.ts';
import { hasIndex } from '../../../decisions/runs/index-set.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { aClusterOperation, BEFORE } from '../../decisions/operations/operations.ts';

const vmsOf = (count: number): VmView[] =>
  Array.from({ length: count }, (_, n) =>
    aVm(`web-${n}`, { namespace: `ns-${n % 100}`, uid: `uid-${n}`, owner: null, createdAt: BEFORE }),
  );

/** Has a worker look at an operation over these VMs, and returns what is to be done, and the status. */
async function begun(vms: VmView[], spec: Partial<OperationSpec>, before: OperationStatus = {}) {
  const byKey = new Map(vms.map((vm) => [namespacedName(vm), vm]));
  const operation = { ...aClusterOperation(spec), status: before };
  let status = before;
  const client = {
    get: () => Promise.resolve(operation),
    patch: (_resource: unknown, _key: unknown, _type: unknown, patch: { path: string; value: OperationStatus }[]) => {
      if (Array.isArray(patch)) status = patch.at(-1)!.value;
      return Promise.resolve({ ...operation, status });
    },
  } as unknown as KubeClient;
  const cache = {
    vms: byKey,
    vmiOf: (vm: VmView) => aVmi(vm, { uid: `vmi-of-${vm.uid}` }),
    namespaces: new Map(),
    isDelegated: () => false,
    noticeRestore: () => Promise.resolve(),
    catchUp: () => Promise.resolve({ vms: '7', vmis: '8', nodes: '9' }),
    kubevirtPlugs: () => ({ migrates: true }),
  } as unknown as ClusterCache;
  const { name, uid } = operation.metadata;
  const env = new MockActivityEnvironment({ workflowExecution: { workflowId: 'op', runId: 'run' } });
  const beginning = await env.run<[], Beginning, () => Promise<Beginning>>(() =>
    begin({ client, cache, workflowIdOf: () => 'op' }, { name, uid }),
  );
  const input = beginning.is === 'run' ? (beginning.input as PowerRunInput) : undefined;
  return { beginning, input, status, cache };
}

test('an operation over 100,000 VMs is one, with one limit over all of them', async () => {
  const { input, status, cache } = await begun(vmsOf(MAX_VMS), { action: 'Restart', vms: {}, atOnce: '1%' });
  expect(input).toMatchObject({ atOnce: 1_000, asOf: { vms: '7', vmis: '8' }, chosen: { count: MAX_VMS } });
  expect(JSON.stringify(input).length).toBeLessThan(1_400_000);
  expect(status.vms).toMatchObject({ chosen: MAX_VMS, open: MAX_VMS });
  expect(chosenIn(cache, 'Restart', input!.chosen).targets.size).toBe(MAX_VMS);
});

test('an operation over more VMs than a run can carry ends before it touches one', async () => {
  const { beginning, status } = await begun(vmsOf(MAX_VMS + 1), { action: 'Restart', vms: {} });
  expect(beginning).toEqual({ is: 'over', deleteAt: null });
  expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Failed', reason: 'TooManyVms' }));
  expect(status).not.toHaveProperty('startTime');
});

test('VMs that have failed before an operation begins anew are not taken again', async () => {
  const failures = ['ns-1/web-1', 'ns-3/web-3'].map((vm) => ({ vm, message: 'late' }));
  const startTime = new Date(0).toISOString();
  const { input, cache } = await begun(vmsOf(10), { action: 'Stop', vms: {} }, { startTime, failures });
  const { targets, indexOf } = chosenIn(cache, 'Stop', input!.chosen);
  const ended = [...targets.keys()].filter((key) => hasIndex(input!.ended, indexOf(key)!));
  expect(ended.sort()).toEqual(['ns-1/web-1', 'ns-3/web-3']);
});
