import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import {
  preflight,
  type PreflightOptions,
  type Preflight,
  type PreflightRequest,
} from '../../../activities/machine-types/check.ts';
import { TransitionContexts } from '../../../activities/machine-types/context.ts';
import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

/** Returns what the preflight asks of a worker's empty caches before it reads them. */
async function askedOfCaches(request: Pick<PreflightRequest, 'minVersions'>): Promise<(string | ResourceVersions)[]> {
  const asked: (string | ResourceVersions)[] = [];
  const listed = (name: string): object => ({ values: () => [], relist: () => Promise.resolve(asked.push(name)) });
  const caches = Object.fromEntries(['pools', 'vms', 'vmis', 'nodes'].map((name) => [name, listed(name)]));
  const cache = {
    ...caches,
    catchUp: (minVersions: ResourceVersions) => Promise.resolve(asked.push(minVersions)),
    versionsOf: () => ({}),
    subscribe: () => () => {},
  };
  const client = { create: () => Promise.resolve({ status: { allowed: true } }) };
  const contexts = new TransitionContexts(cache as unknown as ClusterCache);
  contexts.others.refresh = () => Promise.resolve();
  const options = { client, cache, contexts } as unknown as PreflightOptions;
  const whole: PreflightRequest = {
    ref: { cluster: 'default', id: '1f0c92ab' },
    transition: aTransition(),
    ...request,
  };
  await new MockActivityEnvironment().run((): Promise<Preflight> => preflight(options, whole));
  return asked;
}

test('what has been read for a plan is not read again: the caches are to be as new as that', async () => {
  const minVersions = { pools: '5', vms: '6', vmis: '7' };
  expect(await askedOfCaches({ minVersions })).toEqual([minVersions]);
});

test('if nobody has read anything, all is read', async () => {
  expect(await askedOfCaches({})).toEqual(['pools', 'vms', 'vmis']);
});
