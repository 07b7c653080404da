import { expect, test } from 'vitest';
import { KnownRevisions } from '../../../clients/rollout/known-revisions.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { hashOf, poolWith, templateOf } from './pools.ts';

const kept = {
  metadata: {
    namespace: 'default',
    name: `web-${hashOf(2)}`,
    labels: { 'drover.dev/revision': hashOf(2) },
    ownerReferences: [
      { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid: 'u', controller: true },
    ],
  },
  revision: 7,
  data: { template: templateOf(2) },
};

/** A client whose answers to lists are these, one after the other. */
function clientOf(...answers: (object[] | Error)[]): { kube: KubeClient; reads: () => number } {
  let reads = 0;
  const list = async (): Promise<object> => {
    const answer = answers[reads++];
    if (answer instanceof Error) throw answer;
    return { items: answer };
  };
  return { kube: { list } as unknown as KubeClient, reads: () => reads };
}

test('the revisions of a pool are read once if that of its template is among them', async () => {
  const { kube, reads } = clientOf([kept]);
  const known = new KnownRevisions(kube);
  expect([await known.catchUp(poolWith()), await known.catchUp(poolWith())]).toEqual([true, false]);
  expect(known.of(poolWith()).map(({ number }) => number)).toEqual([7]);
  expect(reads()).toBe(1);
});

test('the revisions are read again while that of its template is not there yet, or the API server does not answer', async () => {
  const { kube, reads } = clientOf([], new Error('gone away'), [kept]);
  const known = new KnownRevisions(kube);
  const caughtUp = [];
  for (let change = 0; change < 4; change++) caughtUp.push(await known.catchUp(poolWith()));
  expect(caughtUp).toEqual([false, false, true, false]);
  expect(reads()).toBe(3);
});

test('two changes at once read the revisions once', async () => {
  const { kube, reads } = clientOf([kept]);
  const known = new KnownRevisions(kube);
  expect(await Promise.all([known.catchUp(poolWith()), known.catchUp(poolWith())])).toEqual([true, false]);
  expect(reads()).toBe(1);
});

test('a template that drover has not taken up yet has no revision to read', async () => {
  expect(await new KnownRevisions({} as KubeClient).catchUp(poolWith({ generation: 3 }))).toBe(false);
});

/** The template of this number as it is kept, with the number that the pool has given it. */
const numbered = (of: number, revision: number): object => ({
  ...kept,
  metadata: { ...kept.metadata, name: `web-${hashOf(of)}`, labels: { 'drover.dev/revision': hashOf(of) } },
  revision,
  data: { template: templateOf(of) },
});

test('an earlier template that is rolled out again is read again until it has its new number', async () => {
  const { kube, reads } = clientOf([numbered(2, 7), numbered(3, 8)], [numbered(2, 9), numbered(3, 8)]);
  const known = new KnownRevisions(kube);
  const caughtUp = [];
  for (let change = 0; change < 3; change++) caughtUp.push(await known.catchUp(poolWith()));
  expect(caughtUp).toEqual([false, true, false]);
  expect(reads()).toBe(2);
});
