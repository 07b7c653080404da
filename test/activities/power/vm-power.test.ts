import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { VmPower, type VmPowerOptions } from '../../../activities/power/vm-power.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines, type Resource } from '../../../api/resources.ts';
import { vmView } from '../../../decisions/from-object/vm.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

test('a VM whose note is not kept has failed, and KubeVirt is not asked to start it', async () => {
  const stored = {
    metadata: { namespace: 'shop', name: 'a', uid: 'uid-a', resourceVersion: '7', creationTimestamp: '' },
    spec: { runStrategy: 'Halted', template: { spec: { domain: {} } } },
    status: { printableStatus: 'Stopped' },
  } as unknown as Stored;
  const asked: string[] = [];
  const client = {
    get: (kind: Resource) =>
      kind === VirtualMachines ? Promise.resolve(stored) : Promise.reject(new KubeError(404, 'NotFound', 'no VMI')),
    // An admission policy takes the note away.
    patch: () => Promise.resolve({ ...stored, metadata: { ...stored.metadata, resourceVersion: '8' } }),
    request: ({ path }: { path: string }) => Promise.resolve(void asked.push(path)),
    create: () => Promise.resolve(stored),
  };
  const options = { client, cache: { vmView }, action: 'Start', by: 'op', note: '', whyNotAnyMore: () => null };
  const held = { name: 'shop/a', target: 'uid-a', admitted: { vm: 'shop/a' } };
  const outcome = await new MockActivityEnvironment().run(() =>
    new VmPower(options as unknown as VmPowerOptions).execute(held as never, { vm: 'shop/a', uid: 'uid-a', since: 0 }),
  );
  expect(outcome).toMatchObject({ vm: 'shop/a', end: 'Failed', message: expect.stringContaining('does not become') });
  expect(asked).toEqual([]);
});
