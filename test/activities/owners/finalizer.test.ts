import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { nothingDone } from '../../../activities/owners/done.ts';
import { setFinalizer } from '../../../activities/owners/finalizer.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

test.each([true, false])(
  'the finalizer of an owner that is gone is not set: a stale cache would have it tried again at once',
  async (held) => {
    const client = { get: () => Promise.reject(new KubeError(404, 'NotFound', 'not found')) } as unknown as KubeClient;
    const key = { namespace: 'shop', name: 'web', uid: 'pool-uid' };
    expect(await new MockActivityEnvironment().run(() => setFinalizer(client, key, held))).toEqual(nothingDone);
  },
);
