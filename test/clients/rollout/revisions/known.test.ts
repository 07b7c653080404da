import { expect, test } from 'vitest';
import { KnownRevisions } from '../../../../clients/rollout/revisions/known.ts';
import type { KubeClient } from '../../../../kubernetes/client.ts';
import { hashOf, poolWith, templateOf } from '../pools.ts';

const kept = {
  metadata: {
    name: 'web-a',
    labels: { 'drover.dev/revision': hashOf(2) },
    ownerReferences: [
      { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid: 'u', controller: true },
    ],
  },
  revision: 7,
  data: { template: templateOf(2) },
};

test('the revisions of a pool are read once for each template', async () => {
  let reads = 0;
  const kube = { list: async () => ({ items: [reads++, kept].slice(1) }) } as unknown as KubeClient;
  const known = new KnownRevisions(kube);
  expect([await known.catchUp(poolWith()), await known.catchUp(poolWith())]).toEqual([true, false]);
  expect(known.of(poolWith()).map(({ number }) => number)).toEqual([7]);
  expect(reads).toBe(1);
});

test('a template that drover has not taken up yet has none to be read', async () => {
  expect(await new KnownRevisions({} as KubeClient).catchUp(poolWith({ generation: 3 }))).toBe(false);
});
