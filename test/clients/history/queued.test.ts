import { expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/names.ts';
import type { Action } from '../../../clients/history/actions.ts';
import { withQueued } from '../../../clients/history/queued.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';

const actionOf = (vm: string, fields: Partial<Action> = {}): Action => ({
  time: '2026-11-26T12:00:00Z',
  endedAt: null,
  action: 'restart',
  vms: [vm],
  from: 'a',
  to: 'b',
  requestedBy: 'ada@desk',
  end: 'InProgress',
  why: null,
  reason: null,
  workflow: 'pool/default/shop/web/update/b/1',
  ...fields,
});

const kubeWith = (revisions: Record<string, string>): KubeClient => {
  const items = Object.entries(revisions).map(([name, revision]) => ({
    metadata: { name, labels: { [REVISION_LABEL]: revision } },
  }));
  return { list: () => Promise.resolve({ items }) } as unknown as KubeClient;
};

const endsOf = async (kube: KubeClient, ...actions: Action[]): Promise<string[]> =>
  (await withQueued(kube, 'shop', actions)).map(({ end }) => end);

test('of a running batch, VMs that still have the revision before are queued', async () => {
  const kube = kubeWith({ 'web-1': 'b', 'web-2': 'a' });
  expect(await endsOf(kube, actionOf('web-1'), actionOf('web-2'))).toEqual(['InProgress', 'Queued']);
});

test('what has ended stays ended, and what is no batch or is gone is not queued', async () => {
  const kube = kubeWith({ 'web-1': 'a', 'web-2': 'a' });
  const done = actionOf('web-1', { end: 'Deferred' });
  const power = actionOf('web-2', { workflow: 'power/default/12345678' });
  expect(await endsOf(kube, done, power, actionOf('web-3'))).toEqual(['Deferred', 'InProgress', 'InProgress']);
});

test('VMs that may not be listed count as in progress', async () => {
  const kube = { list: () => Promise.reject(new Error('forbidden')) } as unknown as KubeClient;
  expect(await endsOf(kube, actionOf('web-1'))).toEqual(['InProgress']);
});
