import { expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { withQueued } from '../../../clients/history/queued.ts';
import type { Act } from '../../../decisions/history/act.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { anAct, anOpenAct } from '../../decisions/history/acts.ts';

const workflow = 'pool/default/shop/web/update/b/1';

const kubeWith = (revisions: Record<string, string>): KubeClient => {
  const items = Object.entries(revisions).map(([name, revision]) => ({
    metadata: { name, labels: { [REVISION_LABEL]: revision } },
  }));
  return { list: () => Promise.resolve({ items }) } as unknown as KubeClient;
};

const endsOf = async (kube: KubeClient, ...acts: Act[]): Promise<string[]> =>
  (await withQueued(kube, 'shop', acts)).map(({ vms, end }) => `${vms.join()} ${end}`);

test('VMs of a running batch that still have the revision before are queued', async () => {
  const kube = kubeWith({ 'web-1': 'b', 'web-2': 'a', 'web-3': 'a' });
  expect(await endsOf(kube, anOpenAct({ workflow, vms: ['web-1', 'web-2', 'web-3'] }))).toEqual([
    'web-1 InProgress',
    'web-2,web-3 Queued',
  ]);
});

test('an ended act stays ended, and what is not a batch or is gone is not queued', async () => {
  const kube = kubeWith({ 'web-1': 'a', 'web-2': 'a' });
  const done = anAct({ workflow, end: 'Deferred' });
  const power = anOpenAct({ workflow: 'power/default/12345678', vms: ['web-2'] });
  expect(await endsOf(kube, done, power, anOpenAct({ workflow, vms: ['web-3'] }))).toEqual([
    'web-1 Deferred',
    'web-2 InProgress',
    'web-3 InProgress',
  ]);
});

test('VMs that may not be listed count as in progress', async () => {
  const kube = { list: () => Promise.reject(new Error('forbidden')) } as unknown as KubeClient;
  expect(await endsOf(kube, anOpenAct({ workflow }))).toEqual(['web-1 InProgress']);
});
