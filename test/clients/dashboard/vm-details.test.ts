import { expect, test } from 'vitest';
import { readVm } from '../../../clients/dashboard/details/vm-details.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aPoolWith } from './objects.ts';

const gone = { get: () => Promise.reject(new KubeError(404, 'NotFound', 'gone')) } as unknown as KubeClient;

test('a VM that healing has deleted, and is to make again, says so instead of being unknown', async () => {
  const startedAt = '2026-01-01T00:00:00Z';
  const cycle = {
    vm: 'web-1',
    uid: 'x',
    attempt: 1,
    phase: 'Waiting',
    why: 'its start has failed',
    startedAt,
  } as const;
  const pool = aPoolWith({ spec: { autohealing: {} }, status: { healing: { cycles: [cycle], finished: [] } } });
  const known = { card: 'pool/default/web', pool };
  expect(await readVm(gone, 'default', 'web-1', known)).toMatchObject({
    status: 'Deleted',
    isReady: false,
    why: [expect.stringContaining('its start has failed')],
  });
  await expect(readVm(gone, 'default', 'web-2', known)).rejects.toThrow('there is no VM default/web-2');
});

test('a place in the disruption budget is told with what it is for, and not with the id of a workflow', async () => {
  const claim = { vm: 'web-1', by: 'operation/default/shop/restart-web', at: '2026-01-01T00:00:00Z' };
  const pool = aPoolWith({ status: { disruptedVMs: [claim] } });
  const { why } = await readVm(gone, 'default', 'web-1', { card: 'pool/default/web', pool });
  expect(why).toEqual([`it has a place in the disruption budget since ${claim.at}: operation shop/restart-web`]);
});

/** Answers for one VM without a VMI, as KubeVirt leaves a VM that is stopped. */
const withStopped = (runStrategy: string): KubeClient => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist' }];
  const vm = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      uid: 'x',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { runStrategy, template: { spec: { domain: { devices: {} } } } },
    status: { printableStatus: 'Stopped', conditions },
  };
  const get = ({ kind }: { kind: string }): Promise<unknown> =>
    kind === vm.kind ? Promise.resolve(vm) : Promise.reject(new KubeError(404, 'NotFound', 'gone'));
  return { get } as unknown as KubeClient;
};

test.each([
  ['Halted', 'it is stopped (run strategy Halted): `drover vm start web-1 -n shop` starts it'],
  [
    'RerunOnFailure',
    'it is stopped: a user has stopped it, its guest has shut down or its pod was evicted, after which KubeVirt starts nothing under the run strategy RerunOnFailure: `drover vm start web-1 -n shop` starts it',
  ],
])('a VM that is stopped says so, and how it starts, and not that it has no VMI: %s', async (runStrategy, why) => {
  const found = await readVm(withStopped(runStrategy), 'shop', 'web-1', { card: 'pool/shop/web', pool: undefined });
  expect(found).toMatchObject({ status: 'Stopped', isReady: false, why: [why] });
});
