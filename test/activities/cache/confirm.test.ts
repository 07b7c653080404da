import { expect, test } from 'vitest';
import { wasRestored } from '../../../activities/cache/confirm.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import type { HttpRequest } from '../../../kubernetes/transport.ts';

const clientAt = (metadata: object | undefined): KubeClient =>
  ({ request: () => Promise.resolve({ metadata }) }) as unknown as KubeClient;

test.each<[words: string, metadata: object | undefined, restored: boolean]>([
  ['at a lower version was restored', { resourceVersion: '899' }, true],
  ['at the version that was seen was not', { resourceVersion: '900' }, false],
  ['at a higher version was not', { resourceVersion: '10000000000000000000' }, false],
  ['that tells no version may be anything', {}, false],
  ['that answers with something else may be anything', undefined, false],
])('an API server %s', async (_words, metadata, restored) => {
  expect(await wasRestored(clientAt(metadata), undefined, { seen: 900n, deadlineMs: 1_000 })).toBe(restored);
});

test('whether the API server answers is asked before all that waits for a connection', async () => {
  const asked: HttpRequest[] = [];
  const client = { request: async (request: HttpRequest) => (asked.push(request), {}) } as unknown as KubeClient;
  await wasRestored(client, undefined, { seen: 0n, deadlineMs: 1_000 });
  expect(asked.map(({ isProbe }) => isProbe)).toEqual([true]);
});
